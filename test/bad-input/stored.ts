import { Redis } from "ioredis";
import type { Pool } from "pg";
import type { Ground } from "../support/backends.ts";

/** The body that the ledger has of an event. */
export async function bodyOf(
  database: Pool,
  source: string,
  eventId: string,
): Promise<Buffer | undefined> {
  const { rows } = await database.query(
    `select b.body from millrace.events e
       join millrace.bodies b on b.day = e.body_day and b.id = e.body_id
      where (e.source, e.event_id) = ($1, $2)`,
    [source, eventId],
  );
  return rows[0]?.body;
}

/** All that the ledger and the queue hold, as text. */
export async function storedText(database: Pool, { redis }: Ground): Promise<string> {
  const events = await database.query("select to_jsonb(e) as row from millrace.events e");
  const bodies = await database.query(
    "select b.headers, encode(b.body, 'escape') as body from millrace.bodies b",
  );
  const jobs =
    redis === undefined
      ? (await database.query("select to_jsonb(j) as row from bullmq.job j")).rows
      : await redisText(redis.url);
  return JSON.stringify([events.rows, bodies.rows, jobs]);
}

async function redisText(url: string): Promise<readonly unknown[]> {
  const client = new Redis(url);
  try {
    const keys = await client.keys("bull:*:*");
    return await Promise.all(
      keys.map(async (key) => {
        const isHash = (await client.type(key)) === "hash";
        return [key, isHash ? await client.hgetall(key) : undefined];
      }),
    );
  } finally {
    client.disconnect();
  }
}

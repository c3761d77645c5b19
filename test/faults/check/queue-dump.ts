import { Redis } from "ioredis";
import type { Stage } from "../stage/stage.ts";

/** What the queues hold. */
export interface QueueDump {
  /** Jobs that wait for something or run. */
  readonly live: number;
  /** Failed jobs, as `source/job id`. */
  readonly failed: ReadonlySet<string>;
  /** Everything that is kept, as text, to search in. */
  readonly text: string;
}

const SOURCES = ["steady", "frail", "hub"];
const LIVE = ["wait", "active", "delayed", "prioritized", "paused"];

/** Reads the queues past BullMQ, with the keys and tables as it keeps them. */
export async function readQueues(stage: Stage): Promise<QueueDump> {
  const { redis } = stage.ground;
  return redis === undefined ? await readPostgres(stage) : await readRedis(redis.server.url);
}

/** Jobs that wait for something or run: 0 is a queue at rest. */
export async function countLive(stage: Stage): Promise<number> {
  const { redis } = stage.ground;
  if (redis === undefined) {
    const { rows } = await stage.database.query(
      "select count(*)::int from bullmq.job where state::text not in ('completed', 'failed')",
    );
    return rows[0].count;
  }
  return await withRedis(redis.server.url, countLiveOn);
}

async function readPostgres(stage: Stage): Promise<QueueDump> {
  const { rows } = await stage.database.query(
    "select queue, id, state::text, job::text as text from bullmq.job",
  );
  const failed = rows.filter(({ state }) => state === "failed");
  return {
    live: rows.filter(({ state }) => state !== "failed" && state !== "completed").length,
    failed: new Set(failed.map(({ queue, id }) => `${queue.slice("millrace-".length)}/${id}`)),
    text: rows.map(({ text }) => text).join("\n"),
  };
}

async function readRedis(url: string): Promise<QueueDump> {
  return await withRedis(url, async (client) => {
    const failed = await Promise.all(
      SOURCES.map(async (source) => {
        const ids = await client.zrange(keyOf(source, "failed"), 0, -1);
        return ids.map((id) => `${source}/${id}`);
      }),
    );
    return {
      live: await countLiveOn(client),
      failed: new Set(failed.flat()),
      text: await everything(client),
    };
  });
}

async function countLiveOn(client: Redis): Promise<number> {
  const counts = await Promise.all(
    SOURCES.flatMap((source) => LIVE.map((state) => countOf(client, keyOf(source, state)))),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

async function countOf(client: Redis, key: string): Promise<number> {
  const type = await client.type(key);
  if (type === "list") return await client.llen(key);
  return type === "zset" ? await client.zcard(key) : 0;
}

async function everything(client: Redis): Promise<string> {
  const texts: string[] = [];
  for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    texts.push(...keys, ...(await Promise.all(keys.map((key) => textOf(client, key)))));
  }
  return texts.join("\n");
}

async function textOf(client: Redis, key: string): Promise<string> {
  switch (await client.type(key)) {
    case "hash":
      return Object.entries(await client.hgetall(key)).join("\n");
    case "string":
      return (await client.get(key)) ?? "";
    case "stream":
      return JSON.stringify(await client.xrange(key, "-", "+"));
    default:
      // Lists and sorted sets hold job ids.
      return "";
  }
}

export async function withRedis<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url, { maxRetriesPerRequest: 2 });
  client.on("error", () => {});
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

function keyOf(source: string, part: string): string {
  return `bull:millrace-${source}:${part}`;
}

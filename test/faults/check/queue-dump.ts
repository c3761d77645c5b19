import type { Redis } from "ioredis";
import { redisText, withRedis } from "../../support/redis-client.ts";
import type { FaultEnvironment } from "../environment/environment.ts";

/** What the queues hold. */
export interface QueueDump {
  /** Failed jobs, as `source/job id`. */
  readonly failed: ReadonlySet<string>;
  /** Everything that is kept, as text, to search in. */
  readonly text: string;
}

const SOURCES = ["steady", "frail", "hub", "relay"];
const LIVE = ["wait", "active", "delayed", "prioritized", "paused"];

/** Reads the queues past BullMQ, with the keys and tables as it keeps them. */
export async function readQueues({ urls, database }: FaultEnvironment): Promise<QueueDump> {
  if (urls.redisUrl !== undefined) return await withRedis(urls.redisUrl, readRedis);
  const { rows } = await database.query(
    "select queue, id, state::text, job::text as text from bullmq.job",
  );
  const failed = rows.filter(({ state }) => state === "failed");
  return {
    failed: new Set(failed.map(({ queue, id }) => `${queue.slice("millrace-".length)}/${id}`)),
    text: rows.map(({ text }) => text).join("\n"),
  };
}

async function readRedis(client: Redis): Promise<QueueDump> {
  const failed = await Promise.all(
    SOURCES.map(async (source) => {
      const ids = await client.zrange(keyOf(source, "failed"), 0, -1);
      return ids.map((id) => `${source}/${id}`);
    }),
  );
  return { failed: new Set(failed.flat()), text: await redisText(client) };
}

/** Jobs that wait for something or run: 0 is a queue at rest. */
export async function countLive({ urls, count }: FaultEnvironment): Promise<number> {
  if (urls.redisUrl !== undefined) return await withRedis(urls.redisUrl, countLiveOn);
  return await count("bullmq.job where state::text not in ('completed', 'failed')");
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

function keyOf(source: string, part: string): string {
  return `bull:millrace-${source}:${part}`;
}

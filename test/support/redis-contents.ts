import type { Redis } from "ioredis";

export async function contentsOfRedis(client: Redis): Promise<Record<string, unknown>> {
  const all = (await client.keys("*")).toSorted();
  // A count of our own, which BullMQ has not.
  const keys = all.filter((key) => !key.endsWith(":millrace:jobs"));
  return Object.fromEntries(
    await Promise.all(keys.map(async (key) => [key, await valueOf(client, key)] as const)),
  );
}

async function valueOf(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case "hash": {
      const fields = await client.hgetall(key);
      for (const time of ["timestamp", "processedOn", "finishedOn"]) delete fields[time];
      return fields;
    }
    case "list":
      return await client.lrange(key, 0, -1);
    case "zset":
      // The jobs that have ended are ordered by time.
      return /:(?:completed|failed)$/.test(key)
        ? (await client.zrange(key, 0, -1)).toSorted()
        : await client.zrange(key, 0, -1, "WITHSCORES");
    case "stream":
      return (await client.xrange(key, "-", "+")).map(([, fields]) => fields);
    default:
      return key.endsWith(":stalled-check") ? "a time" : await client.get(key);
  }
}

export async function scriptsRun(client: Redis): Promise<number> {
  const stats = await client.info("commandstats");
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

import type { Redis } from "ioredis";

export async function contentsOfRedis(client: Redis): Promise<Record<string, unknown>> {
  const all = (await client.keys("*")).toSorted();
  // A count of our own, which BullMQ has not, and its notices, which we do not write.
  const keys = all.filter((key) => !/:(?:millrace:jobs|events)$/.test(key));
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
    default:
      return key.endsWith(":stalled-check") ? "a time" : await client.get(key);
  }
}

/** The calls of commands since the server started, those in scripts too. */
export async function callsOf(client: Redis, ...commands: readonly string[]): Promise<number> {
  const stats = await client.info("commandstats");
  const calls = commands.map((name) => new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1]);
  return calls.reduce((sum, each) => sum + Number(each ?? 0), 0);
}

import { Redis, type RedisOptions } from "ioredis";
import { until } from "./until.ts";

export async function withRedis<T>(
  url: string,
  use: (client: Redis) => Promise<T>,
  options: Pick<RedisOptions, "tls"> = {},
): Promise<T> {
  const client = new Redis(url, { maxRetriesPerRequest: 2, ...options });
  client.on("error", () => {});
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

export async function untilReplicating(
  url: string,
  options: { tls?: RedisOptions["tls"]; withinMs?: number } = {},
): Promise<void> {
  const { withinMs = 60_000, ...rest } = options;
  const info = () => withRedis(url, (client) => client.info("replication"), rest);
  const isUp = async () => (await info()).includes("master_link_status:up");
  await until(isUp, { withinMs, what: "a replica in step" });
}

/** A login whose ACL leaves out a queue stands for a queue that fails by itself. */
export async function allowOnly(redisUrl: unknown, ...keys: string[]): Promise<string> {
  const url = new URL(String(redisUrl));
  await withRedis(url.href, (client) =>
    client.call("ACL", "SETUSER", "narrow", "on", "nopass", "+@all", "resetkeys", ...keys),
  );
  url.username = "narrow";
  url.password = "any";
  return url.href;
}

export async function redisText(client: Redis): Promise<string> {
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
      return "";
  }
}

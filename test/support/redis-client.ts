import { Redis, type RedisOptions } from "ioredis";

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

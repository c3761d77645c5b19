import type { Redis } from "ioredis";

export async function keys(redis: Redis): Promise<string[]> {
  const names = (await redis.keys("*")).toSorted();
  return await Promise.all(names.map(async (name) => `${name} ${await redis.type(name)}`));
}

export async function job(redis: Redis, key: string): Promise<string[]> {
  const hash = await redis.hgetall(key);
  if (hash["data"] === undefined) return [`${key} is not there`];
  const { data, ...fields } = hash;
  const timeless = data
    .replace(/("(?:accepted_at|webhook-timestamp)":)"?\d+"?/g, '$1"<time>"')
    .replace(/"ledger":"[^"]+"/, '"ledger":"<uuid>"');
  const envelope = JSON.parse(timeless) as Record<string, unknown>;
  return [
    key,
    ...Object.entries(fields)
      .map(([name, value]) => `  ${name} ${name === "timestamp" ? "<time>" : value}`)
      .toSorted(),
    ...Object.entries(envelope).map(([name, value]) => `  data.${name} ${JSON.stringify(value)}`),
  ];
}

export const EVENT_IDS = [
  "evt_1",
  "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W",
  "72d3162e-cc78-11e3-81ab-4c9367dc0958",
  "a.b-c_1",
  "meta",
  "stalled-check",
  "5",
  "-5",
  "01",
  "a:b:c1",
  "h-1",
  "g2-evt_1",
  "shop.example|orders/create|1",
  "é1",
  "e\u03011",
  "a".repeat(127) + "1",
  "a".repeat(128) + "1",
];

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { parseInfo } from "./parse-info.ts";
import type { PressureReading } from "./pressure.ts";
import { createRedisScript } from "./redis-script.ts";

/**
 * For each queue its jobs that wait and the age of the oldest that was never begun, or -1. Of a job
 * that has been begun nobody knows since when it waits, so it is passed over, with an end.
 */
const LOOK = createRedisScript(`
local now = redis.call("TIME")
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local found = {}
for _, prefix in ipairs(KEYS) do
  local waiting = redis.call("LLEN", prefix .. "wait")
  local depth = waiting + redis.call("LLEN", prefix .. "paused")
    + redis.call("ZCARD", prefix .. "prioritized") + redis.call("ZCARD", prefix .. "delayed")
  local ageMs = -1
  if waiting > 0 then
    for _, id in ipairs(redis.call("LRANGE", prefix .. "wait", -10, -1)) do
      local job = redis.call("HMGET", prefix .. id, "timestamp", "ats")
      local addedAtMs = tonumber(job[1])
      if addedAtMs and not job[2] then ageMs = math.max(ageMs, nowMs - addedAtMs, 0) end
    end
  end
  found[#found + 1] = { depth, ageMs }
end
return found
`);

/** How full Redis and each queue are, in one round trip. */
export async function lookAtRedis(
  client: Redis,
  queues: ReadonlyMap<string, Queue>,
): Promise<PressureReading> {
  const prefixes = [...queues.values()].map((queue) => queue.toKey(""));
  const [info, found] = await Promise.all([
    client.info("memory"),
    LOOK.run(client, prefixes, []) as Promise<[number, number][]>,
  ]);
  const sources = [...queues.keys()].map((source, index) => {
    const [depth, ageMs] = found[index] ?? [0, -1];
    return [source, { depth, oldestAgeMs: ageMs < 0 ? undefined : ageMs }] as const;
  });
  return { memoryShare: memoryShare(info), sources: new Map(sources) };
}

function memoryShare(info: string): number | undefined {
  const facts = parseInfo(info);
  const max = Number(facts.get("maxmemory") ?? 0);
  return max > 0 ? Number(facts.get("used_memory") ?? 0) / max : undefined;
}

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Forgotten } from "../queues.ts";
import { createRedisScript, unlessWrongType } from "./redis-script.ts";

// The jobs that completed in each minute of the last week, in a hash for each hour since the epoch:
// `bull:millrace-acme:millrace:completed:<hour>`, minute of the hour -> jobs.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const KEPT_HOURS = 7 * 24;
const KEPT_SECONDS = (KEPT_HOURS + 1) * 3_600;

/** The part of a hash's name between the queue's prefix and the hour. No job id has a colon. */
const COMPLETED = "millrace:completed:";

// Counts jobs ever added and completed. Those neither completed nor queued were removed by others.
const EVER = "millrace:jobs";

/** The count of an older queue begins with the jobs that it has. */
export const COUNT_ADDED = `
local function sizeOfAll(prefix)
  local sum = 0
  for list, size in pairs({ wait = "LLEN", paused = "LLEN", active = "LLEN", prioritized = "ZCARD", delayed = "ZCARD", failed = "ZCARD" }) do
    local length = redis.pcall(size, prefix .. list)
    if type(length) == "number" then sum = sum + length end
  end
  return sum
end
local function countAdded(prefix, jobs)
  local key = prefix .. "${EVER}"
  local added, completed = unpack(redis.call("HMGET", key, "added", "completed"))
  if not added then added = sizeOfAll(prefix) + (completed or 0) - jobs end
  redis.call("HSET", key, "added", string.format("%d", added + jobs))
end
`;

/** Counts jobs that BullMQ's own script added, or -1 for one that Millrace removed. */
const COUNT_NOW = createRedisScript(`${COUNT_ADDED} countAdded(KEYS[1], tonumber(ARGV[1]))`);

export async function countAdded(client: Redis, queue: Queue, jobs: number): Promise<void> {
  await COUNT_NOW.run(client, [queue.toKey("")], [jobs]).catch(() => {});
}

const REMOVED = createRedisScript(`${COUNT_ADDED}
local added, completed = unpack(redis.pcall("HMGET", KEYS[1] .. "${EVER}", "added", "completed"))
return added and math.max(0, added - (completed or 0) - sizeOfAll(KEYS[1])) or 0
`);

/** About how many jobs were removed by other tools; jobs that these added count against it. */
export async function countRemoved(client: Redis, queue: Queue): Promise<number> {
  return (await REMOVED.run(client, [queue.toKey("")], [])) as number;
}

export const COUNT_COMPLETED = `
local function countCompleted(prefix, timestamp, jobs)
  redis.call("HINCRBY", prefix .. "${EVER}", "completed", jobs)
  local minute = math.floor(timestamp / ${MINUTE_MS})
  local key = prefix .. "${COMPLETED}" .. string.format("%d", math.floor(minute / 60))
  if redis.call("HINCRBY", key, minute % 60, jobs) == jobs then
    redis.call("EXPIRE", key, ${KEPT_SECONDS})
  end
end
`;

/** Counts completed jobs, -1 for one that runs again. Does not wait; a count may be lost. */
export function countCompleted(
  client: Redis,
  prefix: string,
  { atMs, jobs }: { readonly atMs: number; readonly jobs: number },
): void {
  client.hincrby(`${prefix}${EVER}`, "completed", jobs).catch(() => {});
  const minute = Math.floor(atMs / MINUTE_MS);
  const key = `${prefix}${COMPLETED}${Math.floor(minute / 60)}`;
  const counted = client.hincrby(key, String(minute % 60), jobs);
  counted.then((sum) => (sum === jobs ? client.expire(key, KEPT_SECONDS) : 1)).catch(() => {});
}

export async function countForgotten(
  client: Redis,
  queue: Queue,
  sinceMs: number,
): Promise<Forgotten> {
  const nowMs = Date.now();
  const firstMs =
    Math.floor(Math.max(sinceMs, nowMs - KEPT_HOURS * HOUR_MS) / MINUTE_MS) * MINUTE_MS;
  const completed = queue.toKey("completed");
  const [first, kept] = await Promise.all([
    client.zrange(completed, 0, 0, "WITHSCORES").catch(unlessWrongType),
    client.zcount(completed, firstMs, "+inf").catch(unlessWrongType),
  ]);
  const hours: number[] = [];
  for (let hour = Math.floor(firstMs / HOUR_MS); hour * HOUR_MS <= nowMs; hour += 1)
    hours.push(hour);
  const counted = await Promise.all(
    hours.map(async (hour) => {
      const minutes = await client
        .hgetall(queue.toKey(`${COMPLETED}${hour}`))
        .catch(unlessWrongType);
      return Object.entries(minutes ?? {})
        .filter(([minute]) => hour * HOUR_MS + Number(minute) * MINUTE_MS >= firstMs)
        .map(([, jobs]) => Number(jobs) || 0);
    }),
  );
  const total = counted.flat().reduce((sum, jobs) => sum + jobs, 0);
  return { count: Math.max(0, total - (kept ?? 0)), tillMs: Number(first?.[1] ?? nowMs) };
}

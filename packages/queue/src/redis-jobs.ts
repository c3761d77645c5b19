import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { createRedisScript } from "./bullmq-patches/redis-script.ts";
import { endedRunName } from "./jobs.ts";
import type { JobEnd } from "./queues.ts";

/** Reads jobs, each time in one script. */
export function createJobReads(client: Redis) {
  return {
    statuses: async (queue, ids) => {
      const found = (await STATUSES.run(client, [queue.toKey("")], ids)) as StatusAnswer[];
      return found.map((answer) => {
        if (answer === 0) return undefined;
        if (answer === 1) return { state: "live" };
        const [state, ...fields] = answer;
        return { state, ...toEnd(fields) };
      });
    },
    waiting: async (queue, { type = "", limit }) => {
      const answer = await WAITING.run(client, [queue.toKey("")], [type, limit]);
      const [count, found] = answer as [count: number, found: WaitingAnswer[]];
      const jobs = found.map(([id, state, addedAt, data]) => {
        return { id, state, addedAtMs: Number(addedAt), data };
      });
      return { count, jobs };
    },
    finished: async (queue, { state, from, limit }) => {
      const args = [state, String(from.atMs), String(from.skip), String(limit)];
      const found = (await FINISHED.run(client, [queue.toKey("")], args)) as FinishedAnswer[];
      return found.map(([id, at, addedAt, attemptsMade, reason, data]) => {
        return { ...toEnd([at, addedAt, attemptsMade, reason]), id, data };
      });
    },
  } satisfies Partial<Backend>;
}

/** Bytes that are read of a job's id, reason, and identity; Millrace writes fewer. */
const ID_BYTES_MAX = 1_024;
const REASON_BYTES_MAX = 8_192;
const IDENTITY_BYTES_MAX = 32_768;

/** 0 for no such job, 1 when it has not ended, else how it ended. `getState` searches lists. */
const STATUSES = createRedisScript(`
local prefix = KEYS[1]
local found = {}
local function scoreIn(set, id)
  local score = redis.pcall("ZSCORE", prefix .. set, id)
  return type(score) == "string" and score
end
for i, id in ipairs(ARGV) do
  local key = prefix .. id
  if redis.call("EXISTS", key) == 0 then
    found[i] = 0
  else
    local state, at = "failed", scoreIn("failed", id)
    if not at then state, at = "completed", scoreIn("completed", id) end
    if at then
      local job = redis.pcall("HMGET", key, "timestamp", "atm", "failedReason")
      found[i] = { state, at, job[1] or "0", job[2] or "0", string.sub(job[3] or "", 1, ${REASON_BYTES_MAX}) }
    else
      found[i] = 1
    end
  end
end
return found
`);

type StatusAnswer = 0 | 1 | [state: "failed" | "completed", ...EndFields];
type EndFields = [at: string, addedAt: string, attemptsMade: string, failedReason: string];

function toEnd([at, addedAt, attemptsMade, failedReason]: EndFields): JobEnd {
  const counted = { timestamp: Number(addedAt), attemptsMade: Number(attemptsMade) };
  return {
    finishedAtMs: readScore(at),
    failedReason: failedReason === "" ? undefined : failedReason,
    run: endedRunName({ ...counted, failedReason }),
  };
}

/** Redis writes a score without an end as `inf`, and takes it as `Infinity` too. */
const readScore = (text: string): number => Number(text.replace(/inf$/, "Infinity"));

/** Defines `identityOf(data, bytes)`: an envelope begins with the identity and its MAC. */
const IDENTITY_OF = `
local function identityOf(data, bytes)
  local headers = string.find(data, ',"headers":', 1, true)
  if headers then data = string.sub(data, 1, headers - 1) .. ',"headers":{}}' end
  return string.sub(data, 1, bytes)
end
`;

/** Waiting jobs that are looked at in each list, so that the script takes milliseconds. */
const WAITING_SEEN_MAX = 1_000;
const WAITING_BYTES_MAX = 4_096;

/** The newest waiting jobs of a type, or of all; BullMQ adds at the head of `wait`. */
const WAITING = createRedisScript(`${IDENTITY_OF}
local prefix, wanted, limit = KEYS[1], ARGV[1], tonumber(ARGV[2])
local count, found = 0, {}
local function read(list, size, range, state)
  local length = redis.pcall(size, prefix .. list)
  if type(length) ~= "number" then return end
  if state == "waiting" then count = count + length end
  for _, id in ipairs(redis.call(range, prefix .. list, 0, ${WAITING_SEEN_MAX - 1})) do
    if #found >= limit then return end
    local job = redis.pcall("HMGET", prefix .. id, "name", "timestamp")
    if wanted == "" or job[1] == wanted then
      local data = redis.pcall("HGET", prefix .. id, "data")
      if type(data) ~= "string" then data = "" end
      found[#found + 1] = { string.sub(id, 1, ${ID_BYTES_MAX}), state, job[2] or "0",
        identityOf(data, ${WAITING_BYTES_MAX}) }
    end
  end
end
read("wait", "LLEN", "LRANGE", "waiting")
read("paused", "LLEN", "LRANGE", "waiting")
read("prioritized", "ZCARD", "ZREVRANGE", "waiting")
read("delayed", "ZCARD", "ZREVRANGE", "delayed")
return { count, found }
`);

type WaitingAnswer = [id: string, state: "waiting" | "delayed", addedAt: string, data: string];

/** Jobs of a sorted set from a score on. A key that is no hash reads as a job without data. */
const FINISHED = createRedisScript(`${IDENTITY_OF}
local prefix, state = KEYS[1], ARGV[1]
local page = redis.pcall("ZRANGEBYSCORE", prefix .. state, ARGV[2], "+inf", "WITHSCORES",
  "LIMIT", ARGV[3], ARGV[4])
if page.err then return { { state, "0", "0", "0", "", "" } } end
local found = {}
for i = 1, #page, 2 do
  local job = redis.pcall("HMGET", prefix .. page[i], "timestamp", "atm", "failedReason", "data")
  found[#found + 1] = { string.sub(page[i], 1, ${ID_BYTES_MAX}), page[i + 1], job[1] or "0", job[2] or "0",
    string.sub(job[3] or "", 1, ${REASON_BYTES_MAX}), identityOf(job[4] or "", ${IDENTITY_BYTES_MAX}) }
end
return found
`);

type FinishedAnswer = [id: string, ...EndFields, data: string];

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { endedRunName } from "./jobs.ts";
import { parseInfo } from "./redis-durability.ts";
import { readQueueMark, takeQueueMark } from "./queue-owner.ts";
import type { JobCounts, JobEnd, SourcePressure } from "./queues.ts";
import {
  countAdded,
  countCompleted,
  countForgotten,
  countRemoved,
} from "./bullmq-patches/redis-completions.ts";
import { createRedisScript, unlessWrongType } from "./bullmq-patches/redis-script.ts";

export function createRedisQueries(client: Redis) {
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
    forgetStalls: async (queue, jobId) => {
      await client.hdel(queue.toKey(jobId), "stc");
    },
    uncountCompleted: (queue, finishedAtMs) => {
      countCompleted(client, queue.toKey(""), { atMs: finishedAtMs, jobs: -1 });
    },
    uncountAdded: (queue) => countAdded(client, queue, -1),
    counts: async (queues) => {
      const counting = [...queues].map(
        async ([source, queue]) => [source, await countJobs(client, queue)] as const,
      );
      const settled = await Promise.allSettled(counting);
      const counted = settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      return new Map(counted.length > 0 ? counted : await Promise.all(counting));
    },
    pressure: async (queues) => {
      // One queue that Redis refuses does not hide the others; another command reports an outage.
      const measured = [...queues].map(([source, queue]) =>
        measureJobs(client, queue).then(
          (pressure) => [[source, pressure] as const],
          () => [],
        ),
      );
      const [info, ...sources] = await Promise.all([client.info("memory"), ...measured]);
      const facts = parseInfo(info);
      const max = Number(facts.get("maxmemory") ?? 0);
      const memoryShare = max > 0 ? Number(facts.get("used_memory") ?? 0) / max : undefined;
      return { memoryShare, sources: new Map(sources.flat()) };
    },
    /** A restarted server may have lost the end of its file. */
    epochs: async (queues) => {
      const [info, epochs] = await Promise.all([
        client.info("server"),
        readMeta(client, queues, EPOCH_FIELD),
      ]);
      const run = parseInfo(info).get("run_id") ?? "";
      const withRun = (epoch: string | undefined) => epoch && `${epoch}@${run}`;
      return new Map([...queues.keys()].map((source) => [source, withRun(epochs.get(source))]));
    },
    writeEpoch: async (queue, epoch) => {
      await client.hset(queue.toKey("meta"), EPOCH_FIELD, epoch).catch(unlessWrongType);
    },
    ledgerMarks: (queues) => readMeta(client, queues, LEDGER_FIELD),
    writeLedgerMark: async (queue, mark) => {
      await client.hset(queue.toKey("meta"), LEDGER_FIELD, mark).catch(unlessWrongType);
    },
    forgotten: (queue, sinceMs) => countForgotten(client, queue, sinceMs),
    readMark: (queue) => readQueueMark(client, queue),
    takeMark: (queue, claim) => takeQueueMark(client, queue, claim),
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

async function countJobs(client: Redis, queue: Queue): Promise<JobCounts> {
  const [counts, paused, removed] = await Promise.all([
    queue.getJobCounts("waiting", "prioritized", "active", "delayed", "completed", "failed"),
    queue.isPaused(),
    countRemoved(client, queue),
  ]);
  const { waiting = 0, prioritized = 0, active = 0, delayed = 0, ...ended } = counts;
  const { completed = 0, failed = 0 } = ended;
  return { waiting: waiting + prioritized, active, delayed, completed, failed, removed, paused };
}

// The number of waiting jobs, and the age of the oldest never begun; -1 if the ten oldest began,
// which do not say since when they wait. A key of another type counts as empty.
const PRESSURE = createRedisScript(`
local prefix = KEYS[1]
local now = redis.call("TIME")
local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
local function size(command, key)
  local length = redis.pcall(command, key)
  return type(length) == "number" and length or 0
end
local waiting = size("LLEN", prefix .. "wait")
local depth = waiting + size("LLEN", prefix .. "paused")
  + size("ZCARD", prefix .. "prioritized") + size("ZCARD", prefix .. "delayed")
local ageMs = -1
if waiting > 0 then
  for _, id in ipairs(redis.call("LRANGE", prefix .. "wait", -10, -1)) do
    local job = redis.pcall("HMGET", prefix .. id, "timestamp", "ats")
    local addedAtMs = tonumber(job[1])
    if addedAtMs and not job[2] then ageMs = math.max(ageMs, nowMs - addedAtMs, 0) end
  end
end
return { depth, ageMs }
`);

async function measureJobs(client: Redis, queue: Queue): Promise<SourcePressure> {
  const [depth, ageMs] = (await PRESSURE.run(client, [queue.toKey("")], [])) as [number, number];
  return { depth, oldestAgeMs: ageMs < 0 ? undefined : ageMs };
}

const LEDGER_FIELD = "millrace:ledger";

/** The field of a queue's `meta` with its epoch; it goes with the queue. */
const EPOCH_FIELD = "millrace:epoch";

async function readMeta(
  client: Redis,
  queues: ReadonlyMap<string, Queue>,
  field: string,
): Promise<ReadonlyMap<string, string>> {
  const reading = [...queues].map(async ([source, queue]) => {
    const value = await client.hget(queue.toKey("meta"), field).catch(unlessWrongType);
    return value ? [[source, value] as const] : [];
  });
  return new Map((await Promise.all(reading)).flat());
}

import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { createJobReads } from "./redis-jobs.ts";
import { parseInfo } from "./redis-durability.ts";
import { readQueueMark, takeQueueMark } from "./queue-owner.ts";
import type { JobCounts, SourcePressure } from "./queues.ts";
import {
  countAdded,
  countCompleted,
  countForgotten,
  countRemoved,
} from "./bullmq-patches/redis-completions.ts";
import { createRedisScript, unlessWrongType } from "./bullmq-patches/redis-script.ts";

export function createRedisQueries(client: Redis) {
  return {
    ...createJobReads(client),
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

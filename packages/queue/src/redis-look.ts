import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend, EndedQuery, SeenEnd, SeenJob } from "./backend.ts";
import { parseInfo } from "./parse-info.ts";
import { createRedisScript } from "./redis-script.ts";

/** Where the epoch stands in a queue's `meta`, which goes when the queue is obliterated or flushed. */
const EPOCH_FIELD = "millrace:epoch";

/**
 * For each id 0 when there is no such job, 1 when it has not ended, else how it ended. BullMQ's own
 * question for a job's state searches whole lists for it.
 */
const LOOK = createRedisScript(`
local prefix = KEYS[1]
local found = {}
for i, id in ipairs(ARGV) do
  local key = prefix .. id
  if redis.call("EXISTS", key) == 0 then
    found[i] = 0
  else
    local state, at = "failed", redis.call("ZSCORE", prefix .. "failed", id)
    if not at then state, at = "completed", redis.call("ZSCORE", prefix .. "completed", id) end
    if at then
      local job = redis.call("HMGET", key, "timestamp", "atm", "failedReason")
      found[i] = { state, at, job[1] or "0", job[2] or "0", job[3] or "" }
    else
      found[i] = 1
    end
  end
end
return found
`);

/**
 * Jobs of a sorted set from a score on. Of the data the script gives what stands before the headers,
 * which the body follows: our envelope begins with the identity, and within it a quotation mark is
 * escaped.
 */
const ENDED = createRedisScript(`
local prefix, state = KEYS[1], ARGV[1]
local page = redis.call("ZRANGEBYSCORE", prefix .. state, ARGV[2], "+inf", "WITHSCORES",
  "LIMIT", ARGV[3], ARGV[4])
local found = {}
for i = 1, #page, 2 do
  local job = redis.call("HMGET", prefix .. page[i], "timestamp", "atm", "failedReason", "data")
  local data = job[4] or ""
  local headers = string.find(data, ',"headers":', 1, true)
  if headers then data = string.sub(data, 1, headers - 1) .. ',"headers":{}}' end
  found[#found + 1] = { page[i], page[i + 1], job[1] or "0", job[2] or "0", job[3] or "", data }
end
return found
`);

type RedisLook = Pick<Backend, "look" | "ended" | "epochs" | "writeEpoch">;

/** Compares queues on Redis with the ledger. */
export function createRedisLook(client: Redis): RedisLook {
  return {
    look: async (queue, ids) => {
      const found = (await LOOK.run(client, [queue.toKey("")], ids)) as LookAnswer[];
      return found.map(toSeen);
    },
    ended: (queue, query) => readEnded(client, queue, query),
    epochs: (queues) => readEpochs(client, queues),
    writeEpoch: async (queue, epoch) => {
      await client.hset(queue.toKey("meta"), EPOCH_FIELD, epoch);
    },
  };
}

type Ended = [state: "failed" | "completed", ...EndFields];
type EndFields = [at: string, addedAt: string, attemptsMade: string, failedReason: string];
type LookAnswer = 0 | 1 | Ended;

function toSeen(answer: LookAnswer): SeenJob | undefined {
  if (answer === 0) return undefined;
  if (answer === 1) return LIVE;
  const [state, ...fields] = answer;
  return { state, ...toEnd(fields) };
}

const LIVE: SeenJob = {
  ...{ state: undefined, addedAtMs: 0, finishedAtMs: 0, attemptsMade: 0 },
  failedReason: undefined,
};

function toEnd([at, addedAt, attemptsMade, reason]: EndFields): Omit<SeenJob, "state"> {
  return {
    finishedAtMs: Number(at),
    addedAtMs: Number(addedAt),
    attemptsMade: Number(attemptsMade),
    failedReason: reason === "" ? undefined : reason,
  };
}

async function readEnded(
  client: Redis,
  queue: Queue,
  { state, from, limit }: EndedQuery,
): Promise<SeenEnd[]> {
  const args = [state, String(from.atMs), String(from.skip), String(limit)];
  const found = (await ENDED.run(client, [queue.toKey("")], args)) as [
    id: string,
    ...EndFields,
    data: string,
  ][];
  return found.map(([id, at, addedAt, made, reason, data]) => ({
    ...toEnd([at, addedAt, made, reason]),
    ...{ id, state, data },
  }));
}

/**
 * The name of the server's run goes with the epoch: a server that was restarted may have lost the end
 * of its file, and one that took another's place may not have had all of it.
 */
async function readEpochs(
  client: Redis,
  queues: ReadonlyMap<string, Queue>,
): Promise<ReadonlyMap<string, string | undefined>> {
  const [info, ...epochs] = await Promise.all([
    client.info("server"),
    ...[...queues.values()].map((queue) => client.hget(queue.toKey("meta"), EPOCH_FIELD)),
  ]);
  const run = parseInfo(info).get("run_id") ?? "";
  return new Map(
    [...queues.keys()].map((source, index) => {
      const epoch = epochs[index] ?? undefined;
      return [source, epoch === undefined ? undefined : `${epoch}@${run}`];
    }),
  );
}

import { asError, createBatcher, jsonOf } from "@millrace/core";
import type { Job, JobJson, RedisQueueBackend, Worker } from "bullmq";
import type { Redis } from "ioredis";
import { COUNT_COMPLETED, countCompleted } from "./redis-completions.ts";
import { bullmqScript, createRedisScript, replyError, type RedisScript } from "./redis-script.ts";

export function patchWorker(worker: Worker, client: Redis): Worker {
  const backend: RedisQueueBackend = worker["backend"];
  const exec = backend.execCommand.bind(backend);
  const finish = createFinisher(client);
  const readable = createReadable(worker, client);
  Object.assign(backend, {
    execCommand: (...given: Parameters<typeof exec>): unknown => {
      const [, name, args] = given;
      const alone = () => exec(...given) as Promise<unknown>;
      // The answers of these three have the next job in them.
      if (name === "moveToFinished") return finish({ args: args as Args, alone }).then(readable);
      return name === "moveToActive" || name === "moveToDelayed" ? alone().then(readable) : alone();
    },
  });
  return Object.assign(worker, { createJob: createJobAnyway(worker) });
}

/** Jobs in one run of the script, some milliseconds in which Redis serves no other client. */
const JOBS_MAX = 100;

/** The arguments of BullMQ's script: the keys, then the others. */
const KEYS = 14;
const JOB_ID_KEY = 11;
const ARGS = 9;
const TIMESTAMP = 2;
const TARGET = 5;
const PREFIX = 7;

type Args = readonly (string | number | Buffer | undefined)[];

// Finishes the jobs that end together, and fetches as many, in one call. BullMQ's own script still
// finishes each job: it checks the token of the job's lock.
function createFinisher(client: Redis): (call: FinishCall) => Promise<unknown> {
  const script = createFinishScript();
  const finishing = createBatcher(
    async (calls: readonly FinishCall[]) => {
      const [only] = calls;
      return calls.length === 1 && only !== undefined
        ? [await finishAlone(client, only)]
        : await finishMany(script, client, calls);
    },
    { sizeMax: JOBS_MAX, inFlightMax: Infinity },
  );
  return async (call) => {
    const finished = await finishing.add(call);
    if (finished instanceof Error) throw finished;
    return finished;
  };
}

interface FinishCall {
  readonly args: Args;
  alone(): Promise<unknown>;
}

/** BullMQ's own call takes Redis a third less time than ours for one job. */
async function finishAlone(client: Redis, { args, alone }: FinishCall): Promise<unknown> {
  const answer = await alone();
  const isDone = typeof answer !== "number" || answer >= 0;
  if (isDone && args[KEYS + TARGET - 1] === "completed") {
    const atMs = Number(args[KEYS + TIMESTAMP - 1]);
    countCompleted(client, String(args[KEYS + PREFIX - 1]), { atMs, jobs: 1 });
  }
  return answer;
}

async function finishMany(
  script: RedisScript,
  client: Redis,
  calls: readonly FinishCall[],
): Promise<unknown[]> {
  const rows = calls.map(({ args }) =>
    Array.from({ length: KEYS + ARGS }, (_, column) => args[column] ?? ""),
  );
  const [first = []] = rows;
  // Jobs of one queue have most arguments in common, and each costs time at both ends.
  const own = first.flatMap((value, column) =>
    column === JOB_ID_KEY || rows.some((row) => row[column] !== value) ? column : [],
  );
  const answers = (await script.run(client, first.slice(0, KEYS).map(String), [
    ...first.slice(KEYS),
    ...[own.length, ...own.map((column) => column + 1)],
    ...rows.flatMap((row) => own.map((column) => row[column] ?? "")),
  ])) as unknown[];
  return calls.map((_, index) => {
    const answer = answers[index];
    return typeof answer === "string" ? replyError(answer) : answer;
  });
}

/** BullMQ's functions stand before this line, and none of them reads the keys or arguments. */
const FIRST_LINE = "\nlocal jobIdKey = KEYS[12]\n";

// For each job BullMQ asks for the queue's settings and its delayed jobs, and sets the marker that
// wakes a worker: here one time for all. These commands are known by their key and last argument.
const ONCE_A_CALL = `
local call, stalled = redis.call, KEYS[5]
local hasStalled = call("EXISTS", stalled) == 1
local shared = {
  ZRANGEBYSCORE = { key = KEYS[7], last = 1000 },
  HMGET = { key = KEYS[9], last = "duration" },
  ZADD = { key = KEYS[14], last = "0" },
}
local function rcall(name, key, ...)
  if name == "XADD" or key == stalled and not hasStalled then return end
  local known = shared[name]
  if not known or known.key ~= key or known.last ~= select(-1, ...) then return call(name, key, ...) end
  local answer = known.answer or call(name, key, ...)
  -- Delayed jobs that were due are promoted, and are not due any more.
  if name ~= "ZRANGEBYSCORE" or #answer == 0 then known.answer = answer end
  return answer
end
`;

// BullMQ's text becomes the body of a function, called for each job with its keys and arguments.
// Old notices are trimmed with the first job, and old ended jobs after the last one. An error of
// one job is its own answer; that of a replica is the whole call's.
function createFinishScript(): RedisScript {
  const [functions, body] = bullmqScript("moveToFinished", ONCE_A_CALL).content.split(FIRST_LINE);
  if (functions === undefined || body === undefined) {
    throw new Error(
      "Cannot use BullMQ: its moveToFinished is not the script that this was read from",
    );
  }
  return createRedisScript(`
${functions}
${COUNT_COMPLETED}
local isTrimmed, byAge, byCount = false, {}, {}
local trimNow, removeByAgeNow, removeByCountNow = trimEvents, removeJobsByMaxAge, removeJobsByMaxCount
local function trimEvents(...)
  if not isTrimmed then trimNow(...) end
  isTrimmed = true
end
local function removeJobsByMaxAge(timestamp, maxAge, set, prefix, limit)
  byAge[set] = { timestamp, maxAge, set, prefix, limit }
end
local function removeJobsByMaxCount(maxCount, set, prefix)
  byCount[set] = { maxCount, set, prefix }
end
local function finish(KEYS, ARGV)
${FIRST_LINE}
${body}
end

-- The first job's keys and arguments; which of them the jobs have of their own (KEYS before ARGV); those.
local columns = {}
for i = 1, tonumber(ARGV[${ARGS} + 1]) do columns[i] = tonumber(ARGV[${ARGS} + 1 + i]) end
local keys, args = { unpack(KEYS) }, { unpack(ARGV, 1, ${ARGS}) }
local answers, jobs, completed = {}, 0, 0
local at = ${ARGS} + 1 + #columns
while at < #ARGV do
  for i, column in ipairs(columns) do
    if column > ${KEYS} then args[column - ${KEYS}] = ARGV[at + i] else keys[column] = ARGV[at + i] end
  end
  at = at + #columns
  local done, answer = pcall(finish, keys, args)
  if not done then
    answer = type(answer) == "table" and answer.err or tostring(answer)
    if string.find(answer, "READONLY", 1, true) then return redis.error_reply(answer) end
  elseif args[${TARGET}] == "completed" and (type(answer) ~= "number" or answer >= 0) then
    completed = completed + 1
  end
  jobs = jobs + 1
  answers[jobs] = answer
end
-- BullMQ's part is done: a count that fails changes nothing of it.
if completed > 0 then pcall(countCompleted, args[${PREFIX}], args[${TIMESTAMP}], completed) end
-- The jobs are finished: if an old one cannot be removed, the next call tries again.
for _, given in pairs(byAge) do pcall(removeByAgeNow, unpack(given)) end
for _, given in pairs(byCount) do pcall(removeByCountNow, unpack(given)) end
return answers
`);
}

// Lets a worker on Redis read every job that it fetches. A job that was edited into something that
// BullMQ cannot read would stay active and stall forever, and break every page that lists it. What
// says nothing of the event is replaced, and a job without readable data fails.
function createReadable(worker: Worker, client: Redis): (answer: unknown) => unknown {
  const onError = (error: unknown) => worker.emit("error", asError(error));
  return (answer) => {
    const [fields, id] = Array.isArray(answer) ? (answer as [unknown, unknown]) : [];
    if (!Array.isArray(fields)) return answer;
    // BullMQ asks whether the answer is below zero: all fields would be joined to a text for that.
    Object.assign(answer as object, { toString: () => "" });
    const { removed, replaced } = repairFields(fields as string[]);
    const key = removed.length + replaced.length > 0 ? worker.toKey(String(id)) : "";
    if (removed.length > 0) client.hdel(key, ...removed).catch(onError);
    if (replaced.length > 0) client.hset(key, ...replaced).catch(onError);
    return answer;
  };
}

function createJobAnyway(worker: Worker): (json: JobJson, id: string) => Job {
  const createJob = worker["createJob"].bind(worker);
  return (json, id) => {
    try {
      return createJob(json, id);
    } catch {
      const data = { unreadable: json.data.slice(0, 1_000) };
      const job = createJob({ ...json, data: JSON.stringify(data) }, id);
      job.updateData(data).catch((error: unknown) => worker.emit("error", asError(error)));
      return job;
    }
  };
}

const isJson = (text: string): boolean => (jsonOf(text) ?? null) !== null;
const isCount = (text: string): boolean => /^\d{1,15}$/.test(text);
/** Fields that BullMQ parses or that Redis counts in, with an empty value and a check. */
const PARSED: ReadonlyMap<string, readonly [nothing: string, isGood: (text: string) => boolean]> =
  new Map([
    ["opts", ["{}", isJson]],
    ["progress", ["0", isJson]],
    ["atm", ["0", isCount]],
    ["stc", ["0", isCount]],
  ]);

/** They name a scheduler, or a job that waits for this one; BullMQ stops at a missing one. */
const FOREIGN: ReadonlySet<string> = new Set(["rjk", "parent", "parentKey"]);

/** Empties and replaces fields that BullMQ could not read, in names and values by turns. */
function repairFields(fields: string[]): { removed: string[]; replaced: string[] } {
  const removed: string[] = [];
  const replaced: string[] = [];
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? "";
    const [nothing, isGood] = PARSED.get(name) ?? [];
    if (nothing !== undefined && isGood?.(fields[at + 1] ?? "") === false) {
      fields[at + 1] = nothing;
      replaced.push(name, nothing);
    } else if (FOREIGN.has(name)) {
      fields[at + 1] = "";
      removed.push(name);
    }
  }
  return { removed, replaced };
}

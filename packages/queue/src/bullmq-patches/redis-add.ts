import { MillraceError, stringifyEnvelope, toEnvelope, type StoreResult } from "@millrace/core";
import type { Redis } from "ioredis";
import type { Backend } from "../backend.ts";
import { JOB_OPTIONS, jobOptions } from "../jobs.ts";
import { COUNT_ADDED, countAdded } from "./redis-completions.ts";
import { createRedisScript, replyError, requireKnownBullmq } from "./redis-script.ts";

const KEYS = ["wait", "meta", "id", "active", "marker", "failed", "completed"];

/** The script's answers for a job; anything else is an error's message. */
const ANSWERS = ["accepted", "duplicate", "failed", "conflict", "completed"] as const;

/** Jobs in one run of the script, some ten milliseconds in which Redis serves no other client. */
const CHUNK = 250;

export function createRedisAdd(
  client: Redis,
  { keys: queueKeys, owner }: Pick<Backend, "keys" | "owner">,
  statuses: Backend["statuses"],
): Backend["add"] {
  requireKnownBullmq();
  const script = createRedisScript(ADD);
  const addNow: Backend["add"] = async (queue, jobs, { exact, identityOnly, onSent }) => {
    const keys = KEYS.map((name) => queue.toKey(name));
    const answers: unknown[] = [];
    for (let at = 0; at < jobs.length; at += CHUNK) {
      const args = [queue.toKey(""), String(Date.now()), exact ? "1" : "0"];
      args.push(owner.ledger ?? "", ...OPTIONS);
      for (const { id, event } of jobs.slice(at, at + CHUNK)) {
        args.push(
          id,
          event.type,
          event.bodyHash,
          stringifyEnvelope(toEnvelope(event, { identityOnly, keys: queueKeys, ...owner })),
        );
      }
      answers.push(...((await script.run(client, keys, args, onSent)) as unknown[]));
    }
    return jobs.map((_, index) => toStoreResult(answers[index]));
  };

  /** Jobs that begin later are few, and BullMQ's own command adds them. */
  const addDelayed: Backend["add"] = async (queue, jobs, { identityOnly }) => {
    const ids = jobs.map(({ id }) => id);
    const known = await statuses(queue, ids);
    await queue.addBulk(
      jobs.map(({ id, event, delayMs }) => {
        const data = toEnvelope(event, { identityOnly, keys: queueKeys, ...owner });
        return { name: event.type, data, opts: jobOptions(id, delayMs) };
      }),
    );
    await countAdded(client, queue, known.filter((job) => job === undefined).length);
    return known.map((job) => {
      if (job === undefined) return "accepted";
      return job.state === "live" ? "duplicate" : job.state;
    });
  };

  return async (queue, jobs, options) => {
    const later = jobs.filter(({ delayMs }) => delayMs > 0);
    if (later.length === 0) return await addNow(queue, jobs, options);
    const now = jobs.filter(({ delayMs }) => delayMs === 0);
    const added = (await addNow(queue, now, options)).values();
    const delayed = (await addDelayed(queue, later, options)).values();
    return jobs.map(({ delayMs }) => (delayMs > 0 ? delayed : added).next().value ?? NO_ANSWER);
  };
}

const NO_ANSWER = new Error("Cannot add the job: Redis gave no answer for it");

/** Another ledger's event has the job's ID: an answer of duplicate would lose ours. */
const FOREIGN = new MillraceError(
  "unavailable",
  "Cannot enqueue: the queue has a job of another ledger under this ID",
);

function toStoreResult(answer: unknown): StoreResult {
  if (typeof answer !== "number") return replyError(String(answer));
  if (answer === ANSWERS.length) return FOREIGN;
  return ANSWERS[answer] ?? new Error(`Cannot add the job: an unknown answer ${answer}`);
}

const { stackTraceLimit, backoff, attempts } = JOB_OPTIONS;
const OPTIONS = JSON.stringify({ stackTraceLimit, jobId: "", backoff, attempts }).split('""');

// Does the work of BullMQ's own script for many jobs without a delay, a priority, a parent, or a
// deduplication key: stores what `queue.add` would store, value for value, but no notices, which
// nothing reads. An error of one job is its own answer; that of a replica is the whole call's. Job
// data is our envelope, in which the first unescaped "body_hash" and "ledger" are its own; parsing
// a body of a megabyte would hold up the server.
// ARGV: the queue's key prefix, the time, "1" to find out what is known of a duplicate, the
// ledger or "", the two parts of the options; then for each job its id, name, body hash and data.
const ADD = `${COUNT_ADDED}
local wait, meta, counter, active, marker, failed, completed = unpack(KEYS)
local prefix, timestamp, exact = ARGV[1], ARGV[2], ARGV[3] == "1"
local call = redis.call
local ledger = ARGV[4]
local NEW, DUPLICATE, FAILED, CONFLICT, COMPLETED, FOREIGN = 0, 1, 2, 3, 4, 5

local function known(id, key, bodyHash)
  local data = call("HGET", key, "data") or ""
  local theirs = ledger ~= "" and string.match(data, '"ledger":"([^"]*)"')
  if theirs and theirs ~= ledger then return FOREIGN end
  if not exact then return DUPLICATE end
  local kept = string.match(data, '"body_hash":"([^"]*)"')
  if kept and kept ~= bodyHash then return CONFLICT end
  if call("ZSCORE", failed, id) then return FAILED end
  if call("ZSCORE", completed, id) then return COMPLETED end
  return DUPLICATE
end

local function add(id, name, bodyHash, data)
  local key = prefix .. id
  if call("EXISTS", key) == 1 then return known(id, key, bodyHash) end
  call("HMSET", key, "name", name, "data", data, "opts", ARGV[5] .. cjson.encode(id) .. ARGV[6],
    "timestamp", timestamp, "delay", 0, "priority", 0)
  call("LPUSH", wait, id)
  return NEW
end

local function isPausedOrMaxed()
  local attributes = call("HMGET", meta, "paused", "concurrency")
  return attributes[1] or attributes[2] and call("LLEN", active) >= tonumber(attributes[2])
end

local answers, jobs, added = {}, 0, 0
for i = 7, #ARGV, 4 do
  local done, answer = pcall(add, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  if not done then answer = type(answer) == "table" and answer.err or tostring(answer) end
  if not done and string.find(answer, "READONLY", 1, true) then return redis.error_reply(answer) end
  if answer == NEW then added = added + 1 end
  jobs = jobs + 1
  answers[jobs] = answer
end
-- BullMQ counts each call. Nothing of ours reads it, and a duplicate is one on a full Redis too.
pcall(call, "INCRBY", counter, jobs)
-- It wakes a worker that waits for a job.
if added > 0 then pcall(countAdded, prefix, added) end
if added > 0 and not isPausedOrMaxed() then call("ZADD", marker, 0, "0") end
return answers
`;

import { toEnvelopeText, type StoreResult } from "@millrace/core";
import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { JOB_OPTIONS } from "./job-options.ts";
import { bullmqScript, createRedisScript, replyError, type RedisScript } from "./redis-script.ts";

/** The names of the keys that BullMQ's script wants, in its order. */
const KEYS = ["wait", "paused", "meta", "id", "completed", "delayed", "active", "events", "marker"];

/** What the script answers for a job; anything else is an error's message. */
const ANSWERS = ["accepted", "duplicate", "failed", "conflict"] as const;

/** Jobs in one run of the script, during which Redis serves no other client: some ten milliseconds. */
const CHUNK = 250;

/** Adds jobs, and finds out what was known of them, in one command. */
export function createRedisAdd(client: Redis): Backend["add"] {
  const script = createAddScript();
  return async (queue, jobs, { exact, identityOnly }) => {
    const keys = KEYS.map((name) => queue.toKey(name));
    const answers: unknown[] = [];
    for (let at = 0; at < jobs.length; at += CHUNK) {
      const args = [queue.toKey(""), String(Date.now()), exact ? "1" : "0"];
      for (const { id, event } of jobs.slice(at, at + CHUNK)) {
        args.push(id, event.type, event.bodyHash, toEnvelopeText(event, { identityOnly }));
      }
      answers.push(...((await script.run(client, keys, args)) as unknown[]));
    }
    return jobs.map((_, index) => toStoreResult(answers[index]));
  };
}

function toStoreResult(answer: unknown): StoreResult {
  if (typeof answer !== "number") return replyError(String(answer));
  return ANSWERS[answer] ?? new Error(`Cannot add the job: an unknown answer ${answer}`);
}

/** BullMQ's functions stand between these lines, and none of them reads the keys or arguments. */
const FIRST_FUNCTION = "\n-- Includes\n";
const AFTER_FUNCTIONS = "\nif parentKey ~= nil then\n";

/**
 * BullMQ's own script that adds one job, in a loop over many. Its text is taken from the BullMQ that
 * is installed, so that what is stored is what `queue.add` would store; what is saved is a round
 * trip for the duplicates and two thirds of the work that BullMQ and ioredis do for each job.
 *
 * KEYS are those above. ARGV: the queue's key prefix, the time, "1" to find out what is
 * known of a duplicate; then for each job its id, name, body hash and data.
 *
 * @throws when another BullMQ is installed than the one that this is tested with.
 * @internal
 */
export function createAddScript(load?: NodeJS.Require): RedisScript {
  const text = bullmqScript("addStandardJob", load);
  const first = text.indexOf(FIRST_FUNCTION);
  const after = text.indexOf(AFTER_FUNCTIONS);
  if (first === -1 || after < first) {
    throw new Error(
      "Cannot use BullMQ: its addStandardJob is not the script that this was read from",
    );
  }
  const functions = text.slice(first, after);
  return createRedisScript(compose(functions, text.slice(0, first) + text.slice(after)));
}

/**
 * BullMQ's text becomes the body of a function, which is called for each job; its helper functions are made
 * once. It unpacks two of its arguments, which a function can be given as they are. An error of one job is
 * its own answer; the others go on. A duplicate is given to BullMQ too, which publishes it, but is one
 * whatever BullMQ says (Redis may be full).
 *
 * Job data is our envelope, in which the first unescaped "body_hash" is the event's; to parse a body
 * of a megabyte for it would hold up the server.
 */
function compose(functions: string, body: string): string {
  return `
local cmsgpack = { unpack = function(value) return value end }
local rcall = redis.call
${functions}
local function addJob(KEYS, ARGV)
${body}
end

local NEW, DUPLICATE, FAILED, CONFLICT = 0, 1, 2, 3
local prefix, timestamp, exact = ARGV[1], ARGV[2], ARGV[3] == "1"
local opts = cjson.decode([==[${JSON.stringify({ ...JOB_OPTIONS, jobId: "" })}]==])

local function look(id, bodyHash)
  local key = prefix .. id
  if redis.call("EXISTS", key) == 0 then return NEW end
  if not exact then return DUPLICATE end
  local data = redis.call("HGET", key, "data")
  local kept = data and string.match(data, '"body_hash":"([^"]*)"')
  if kept and kept ~= bodyHash then return CONFLICT end
  if redis.call("ZSCORE", prefix .. "failed", id) then return FAILED end
  return DUPLICATE
end

local function place(id, name, bodyHash, data)
  local found = look(id, bodyHash)
  opts.jobId = id
  local arguments = { { prefix, id, name, timestamp }, data, opts }
  if found ~= NEW then
    pcall(addJob, KEYS, arguments)
    return found
  end
  local answer = addJob(KEYS, arguments)
  if type(answer) == "number" and answer < 0 then error("BullMQ's code " .. answer) end
  return NEW
end

local answers = {}
for i = 4, #ARGV, 4 do
  local done, answer = pcall(place, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
  if not done then answer = type(answer) == "table" and answer.err or tostring(answer) end
  answers[#answers + 1] = answer
end
return answers
`;
}

import { asError } from "@millrace/core";
import type { JobJson, RedisQueueBackend, Worker } from "bullmq";
import type { Redis } from "ioredis";

/**
 * Lets a worker on Redis read every job that it fetches. A job that was edited into something that
 * BullMQ cannot read would stay active and stall forever, and break every page that lists it. What
 * says nothing of the event is replaced, and a job without readable data fails.
 */
export function makeReadable(worker: Worker, client: Redis): Worker {
  const backend: RedisQueueBackend = worker["backend"];
  const exec = backend.execCommand.bind(backend);
  const createJob = worker["createJob"].bind(worker);
  const onError = (error: unknown) => worker.emit("error", asError(error));

  const readable = (answer: unknown): unknown => {
    const [fields, id] = Array.isArray(answer) ? (answer as [unknown, unknown]) : [];
    if (!Array.isArray(fields)) return answer;
    const { removed, replaced } = repairFields(fields as string[]);
    const key = removed.length + replaced.length > 0 ? worker.toKey(String(id)) : "";
    if (removed.length > 0) client.hdel(key, ...removed).catch(onError);
    if (replaced.length > 0) client.hset(key, ...replaced).catch(onError);
    return answer;
  };
  const orUnreadable = (json: JobJson, id: string) => {
    try {
      return createJob(json, id);
    } catch {
      const data = { unreadable: json.data.slice(0, 1_000) };
      const job = createJob({ ...json, data: JSON.stringify(data) }, id);
      job.updateData(data).catch(onError);
      return job;
    }
  };
  Object.assign(backend, {
    execCommand: (...given: Parameters<typeof exec>): unknown => {
      const answer: unknown = exec(...given);
      return FETCHES.has(given[1]) ? (answer as Promise<unknown>).then(readable) : answer;
    },
  });
  return Object.assign(worker, { createJob: orUnreadable });
}

/** BullMQ's commands whose answer has the next job in it. */
const FETCHES: ReadonlySet<string> = new Set(["moveToActive", "moveToFinished", "moveToDelayed"]);

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

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

function isCount(text: string): boolean {
  return /^\d{1,15}$/.test(text);
}

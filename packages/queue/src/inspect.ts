import { isMillraceError, readEnvelope, type EventKey } from "@millrace/core";
import type { Job, Queue } from "bullmq";
import type { Backend, FinishedSnapshot, WaitingSnapshots } from "./backend.ts";
import { addedAt, isForeign, isJobOf, jobId, runName } from "./jobs.ts";
import type {
  FinishedFrom,
  FinishedJob,
  FinishedJobs,
  FoundJob,
  JobProblem,
  JobStatus,
  Queues,
} from "./queues.ts";

/** Jobs in one read, so that the server serves other clients in between. */
const PAGE_MAX = 500;

/** Jobs that are removed in one call: some milliseconds. */
const REMOVED_MAX = 250;

export function createInspection(backend: Backend, queues: ReadonlyMap<string, Queue>) {
  const queueOf = (source: string): Queue => {
    const queue = queues.get(source);
    if (queue === undefined) throw new Error(`Cannot find the queue: no source "${source}"`);
    return queue;
  };
  const queuesOf = (sources: readonly string[]) =>
    new Map(sources.map((source) => [source, queueOf(source)]));
  return {
    findJob: async (key) => {
      const queue = queueOf(key.source);
      const id = jobId(key.eventId, key.generation);
      const [job, state] = await Promise.all([
        queue.getJob(id).catch((error: unknown) => orUnreadable(backend, error)),
        queue.getJobState(id),
      ]);
      if (job === "unreadable") {
        const nothing = { ...UNBEGUN, event: undefined, mac: undefined };
        return { ...nothing, jobId: id, state: stateOf(state), enqueuedAtMs: Date.now() };
      }
      return job === undefined ? undefined : toFound(key.source, job, state, backend);
    },
    waitingJobs: async (source, query) => {
      const found = await backend.waiting?.(queueOf(source), query);
      const jobs = found?.jobs.map((job) => toWaiting(source, job, backend)) ?? [];
      return { count: found?.count ?? 0, jobs };
    },
    retryJob: async (key) => await runAgain(backend, queueOf(key.source), key, "failed"),
    rerunJob: async (key) => await runAgain(backend, queueOf(key.source), key, "completed"),
    promoteJob: async (key) => await runAgain(backend, queueOf(key.source), key, "delayed"),
    removeJob: async (key) => {
      const queue = queueOf(key.source);
      const id = jobId(key.eventId, key.generation);
      const job = await queue.getJob(id).catch((error: unknown) => orUnreadable(backend, error));
      // Another ledger's event may have this id.
      if (job !== "unreadable" && isForeign(ledgerOf(job), backend.owner)) return false;
      const isCounted = (await queue.getJobState(id)) === "completed";
      const isRemoved = (await queue.remove(id)) === 1;
      if (isRemoved && !isCounted) await backend.uncountAdded?.(queue);
      return isRemoved;
    },
    pause: (source) => queueOf(source).pause(),
    resume: (source) => queueOf(source).resume(),
    counts: () => backend.counts(queues),
    jobStatuses: async (keys) => {
      const statuses: (JobStatus | undefined)[] = Array.from({ length: keys.length });
      const reads = pagesBySource(keys).map(async (page) => {
        const ids = page.map(({ key }) => jobId(key.eventId, key.generation));
        const found = await backend.statuses(queueOf(page[0]?.key.source ?? ""), ids);
        page.forEach(({ index }, position) => {
          statuses[index] = found[position];
        });
      });
      await Promise.all(reads);
      return statuses;
    },
    finishedJobs: async (source, state, from = { atMs: 0, skip: 0 }, pageMax = PAGE_MAX) => {
      const jobs = await backend.finished(queueOf(source), { state, from, limit: pageMax });
      const next = jobs.length < pageMax ? undefined : nextPage(from, jobs);
      return { jobs: jobs.map((job) => toFinished(source, job, backend)), next };
    },
    removeCompleted: async (keepMs, signal) => {
      let removed = 0;
      for (const queue of queues.values()) {
        while (signal?.aborted !== true) {
          const batch = await queue.clean(keepMs, REMOVED_MAX, "completed");
          removed += batch.length;
          if (batch.length < REMOVED_MAX) break;
        }
      }
      return removed;
    },
    epochs: (sources) => backend.epochs(queuesOf(sources)),
    writeEpoch: (source, epoch) => backend.writeEpoch(queueOf(source), epoch),
    ledgerMarks: (sources) => backend.ledgerMarks(queuesOf(sources)),
    writeLedgerMark: (source, mark) => backend.writeLedgerMark(queueOf(source), mark),
    forgotten: (source, sinceMs) => backend.forgotten(queueOf(source), sinceMs),
    readMark: async (source) => await backend.readMark?.(queueOf(source)),
    takeMark: async (source, claim) => await backend.takeMark?.(queueOf(source), claim),
  } satisfies Partial<Queues>;
}

/** BullMQ's codes of a retry or promotion that came too late (its enum ErrorCode). */
const JOB_NOT_EXIST = -1;
const JOB_NOT_IN_STATE = -3;

/** One step: a job that another process has moved is left alone. The count of attempts stays. */
async function runAgain<From extends "failed" | "completed" | "delayed">(
  backend: Backend,
  queue: Queue,
  key: EventKey,
  from: From,
): Promise<"retried" | "not_found" | `not_${From}`> {
  const job = await queue.getJob(jobId(key.eventId, key.generation));
  if (job?.id === undefined || isForeign(ledgerOf(job), backend.owner)) return "not_found";
  // BullMQ keeps the count of lost workers: a job abandoned once would be abandoned again at once.
  const { finishedOn } = job;
  if (finishedOn !== undefined) await backend.forgetStalls(queue, job.id);
  try {
    if (from !== "delayed") await job.retry(from);
    else await (backend.promote?.(queue, job.id) ?? job.promote());
    if (from === "completed" && finishedOn !== undefined) {
      backend.uncountCompleted?.(queue, finishedOn);
    }
    return "retried";
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === JOB_NOT_EXIST) return "not_found";
    if (code === JOB_NOT_IN_STATE) return `not_${from}`;
    throw error;
  }
}

function ledgerOf(job: Job | undefined): string | undefined {
  const { ledger } = (job?.data ?? {}) as { readonly ledger?: unknown };
  return typeof ledger === "string" ? ledger : undefined;
}

/** Separates an edited job that BullMQ cannot read from a server that fails. */
function orUnreadable(backend: Backend, error: unknown): "unreadable" {
  if (error instanceof SyntaxError || backend.isPoison(error)) return "unreadable";
  throw error;
}

const UNBEGUN = { run: "", finishedAtMs: undefined, failedReason: undefined } as const;

function toWaiting(
  source: string,
  job: WaitingSnapshots["jobs"][number],
  backend: Trusts,
): FoundJob {
  const { id, state, addedAtMs: timestamp, data } = job;
  const { event, mac } = readOwn(source, id, () => JSON.parse(data), backend);
  return { ...UNBEGUN, jobId: id, state, enqueuedAtMs: addedAt({ timestamp }), event, mac };
}

function toFound(source: string, job: Job, state: string, backend: Trusts): FoundJob {
  const { event, mac } = readOwn(source, job.id, () => job.data, backend);
  return {
    jobId: job.id ?? "",
    state: stateOf(state),
    run: runName(job),
    enqueuedAtMs: addedAt(job),
    finishedAtMs: job.finishedOn,
    failedReason: job.failedReason,
    event,
    mac,
  };
}

const SHOWN = ["active", "delayed", "completed", "failed"] as const;
const WAITING = ["waiting", "prioritized", "paused"];

const stateOf = (state: string): FoundJob["state"] =>
  SHOWN.find((one) => one === state) ?? (WAITING.includes(state) ? "waiting" : "unknown");

type Trusts = Pick<Backend, "keys" | "owner">;

/** Reads job data, unless it is a copy of another job's. */
function readOwn(
  source: string,
  id: string | undefined,
  readData: () => unknown,
  { keys, owner }: Trusts,
) {
  try {
    const found = readEnvelope(readData(), keys);
    if (isForeign(found.ledger, owner)) {
      return unreadable("Cannot read job data: it is for another ledger", "foreign_job");
    }
    if (isJobOf(found.event, source, id)) return found;
    return unreadable("Cannot read job data: it is of another job");
  } catch (error) {
    return isMillraceError(error)
      ? unreadable(error.message, error.code)
      : unreadable("Cannot read job data: it is not JSON");
  }
}

function unreadable(message: string, code: JobProblem["code"] = "invalid_envelope") {
  return { event: undefined, mac: undefined, problem: { code, message } };
}

function pagesBySource(keys: readonly EventKey[]) {
  const bySource = new Map<string, { key: EventKey; index: number }[][]>();
  keys.forEach((key, index) => {
    const pages = bySource.get(key.source) ?? [];
    bySource.set(key.source, pages);
    const last = pages.at(-1);
    if (last !== undefined && last.length < PAGE_MAX) last.push({ key, index });
    else pages.push([{ key, index }]);
  });
  return [...bySource.values()].flat();
}

function toFinished(
  source: string,
  { id, data, ...end }: FinishedSnapshot,
  backend: Trusts,
): FinishedJob {
  return { ...end, jobId: id, ...readOwn(source, id, () => JSON.parse(data), backend) };
}

/** Jobs may end in the same millisecond: a cursor counts those of its last one. */
function nextPage(from: FinishedFrom, jobs: readonly FinishedSnapshot[]): FinishedJobs["next"] {
  const atMs = jobs.at(-1)?.finishedAtMs;
  if (atMs === undefined) return undefined;
  const ties = jobs.filter((job) => job.finishedAtMs === atMs).length;
  return { atMs, skip: atMs === from.atMs ? from.skip + ties : ties };
}

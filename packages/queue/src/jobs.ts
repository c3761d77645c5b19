import { hash } from "node:crypto";
import { TIME_MAX_MS, type EventKey } from "@millrace/core";
import type { Job, JobsOptions, KeepJobs } from "bullmq";
import type { Backend } from "./backend.ts";
import type { JobOwner } from "./queue-owner.ts";

export const queueName = (source: string): string => `millrace-${source}`;

// BullMQ keeps a job under `<prefix>:<queue>:<job id>`, the namespace of its own keys, and gives
// `""`, integers and colons a meaning of its own. None of its names has a digit or an underscore,
// so an id that has one is safe, and readable in the dashboard. A raw id that begins with a prefix
// of `jobId` could equal another event's job id.
const SAFE = /^(?=.*[0-9_])(?!-?[0-9]+$)(?!h-|g[0-9]+-)[A-Za-z0-9_.-]{1,128}$/;

/** The event id where that is safe, else `h-` and its SHA-256; a later generation has `g<n>-`. */
export function jobId(eventId: string, generation: number): string {
  const first = SAFE.test(eventId) ? eventId : `h-${hash("sha256", eventId, "base64url")}`;
  return generation === 0 ? first : `g${generation}-${first}`;
}

/** True for a job of this event: job data with its MAC can be copied into another job. */
export function isJobOf(event: EventKey, source: string, id: string | undefined): boolean {
  return event.source === source && jobId(event.eventId, event.generation) === id;
}

/** True for a job that another ledger's ingress added. A job without a ledger is anyone's. */
export function isForeign(ledger: string | undefined, owner: JobOwner): boolean {
  return ledger !== undefined && owner.ledger !== undefined && ledger !== owner.ledger;
}

/**
 * The name of a job's run: when it was added, and how many ended runs BullMQ had counted. A worker
 * that dies reports nothing, so the next run has the same name. So has that of a job that Millrace
 * retries: the name is part of the reason that BullMQ stores, and drops when a person retries it.
 */
export function runName(job: Pick<Job, "timestamp" | "attemptsMade" | "failedReason">): string {
  const kept = KEPT.exec(job.failedReason ?? "")?.[1];
  return kept ?? `${job.timestamp}.${job.attemptsMade}`;
}

export function endedRunName(job: Parameters<typeof runName>[0]): string {
  return runName({ ...job, attemptsMade: Math.max(0, job.attemptsMade - 1) });
}

/** When a job was added; now where somebody has edited that into no time at all. */
export function addedAt({ timestamp }: Pick<Job, "timestamp">): number {
  return timestamp >= 0 && timestamp <= TIME_MAX_MS ? timestamp : Date.now();
}

export function keepingName(reason: string, run: string): string {
  return `${reason} [run ${run}]`;
}

const KEPT = / \[run (\d{1,16}\.\d{1,16})\]$/;

/**
 * The options of every job. The worker's retry policy counts the ledger's attempts, so BullMQ must
 * never end a job by itself: attempts without end, and a delay that the worker chooses. Stack
 * traces would keep a copy of the user's errors in Redis for each attempt.
 */
export const JOB_OPTIONS = {
  attempts: 100_000_000,
  backoff: { type: "millrace" },
  stackTraceLimit: 0,
} as const satisfies JobsOptions;

export function jobOptions(id: string, delayMs: number): JobsOptions {
  return { ...JOB_OPTIONS, jobId: id, ...(delayMs > 0 && { delay: delayMs }) };
}

export const KEEP_COMPLETED_MS = 600_000;
export const KEEP_COMPLETED_BYTES = 268_435_456;

/** Completed jobs of a queue that always may stay, with few bytes of its own too. */
const COUNT_MIN = 10_000;
/** Bytes of a completed job in Redis without its body, measured with four headers. */
const JOB_BYTES = 1_500;
/** A body is a string in JSON in Redis, and its quotation marks are escaped. */
const BODY_SHARE = 1.2;
/** Jobs between two changes of the count: Redis removes them in one call. */
const JOBS_A_CHANGE = 100;
const FALL_MAX = 1_000;
const MEAN_JOBS = 1_000;

/**
 * Completed jobs stay for a time, and on Redis as many as fit into a source's bytes. On Postgres
 * BullMQ would read all completed jobs of a queue, each time that a job ends, to find those beyond
 * a count. It is the worker's option, so that a change holds for jobs that wait already.
 */
export function completedToKeep(
  backend: Backend["name"],
  { keepMs, sourceBytes }: { readonly keepMs: number; readonly sourceBytes: number },
): { readonly keep: KeepJobs; count(bodyChars: number): void } {
  // BullMQ removes such a job in the call that completes it.
  if (keepMs === 0) return { keep: { count: 0 }, count: () => {} };
  const age = Math.ceil(keepMs / 1_000);
  if (backend === "postgres") return { keep: { age }, count: () => {} };
  const countOf = (jobBytes: number) => Math.max(COUNT_MIN, Math.floor(sourceBytes / jobBytes));
  // A new process does not know how large jobs are, and must not remove many at once.
  let keep = { age, count: countOf(JOB_BYTES) };
  let meanBytes = JOB_BYTES;
  let jobs = 0;
  return {
    get keep() {
      return keep;
    },
    count: (bodyChars) => {
      jobs += 1;
      const bytes = JOB_BYTES + bodyChars * BODY_SHARE;
      meanBytes += (bytes - meanBytes) / Math.min(jobs, MEAN_JOBS);
      if (jobs % JOBS_A_CHANGE !== 0) return;
      const count = Math.max(countOf(meanBytes), keep.count - FALL_MAX);
      if (count !== keep.count) keep = { age, count };
    },
  };
}

/** Entries of a queue's event stream that BullMQ keeps. Millrace reads none of them. */
export const STREAMS = { events: { maxLen: 1_000 } };

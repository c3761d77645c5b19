import type { JobsOptions, KeepJobs } from "bullmq";
import type { Backend } from "./backend.ts";

/**
 * What every job carries. The retry policy lives in the worker and counts the ledger's attempts, so
 * BullMQ must never end a job by itself: attempts without end, and a delay that the worker chooses.
 * Stack traces would keep a copy of the user's errors in Redis for each attempt.
 */
export const JOB_OPTIONS = {
  attempts: 1_000_000,
  backoff: { type: "millrace" },
  stackTraceLimit: 0,
} as const satisfies JobsOptions;

/**
 * Completed jobs stay ten minutes, and in Redis at most 10,000 a queue; the ledger remembers for longer. On
 * Postgres BullMQ would read all completed jobs of a queue, each time that a job ends, to find those beyond
 * a count.
 *
 * It is the worker's option and not each job's: the job hashes stay small, and a change
 * holds for jobs that wait already.
 */
export const KEEP_COMPLETED: Readonly<Record<Backend["name"], KeepJobs>> = {
  redis: { age: 600, count: 10_000 },
  postgres: { age: 600 },
};

/** Entries of a queue's event stream that BullMQ keeps. Millrace reads none of them. */
export const STREAMS = { events: { maxLen: 1_000 } };

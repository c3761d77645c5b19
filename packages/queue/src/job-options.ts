import type { JobsOptions, KeepJobs } from "bullmq";
import type { NewJob } from "./backend.ts";

/**
 * What every job carries. The retry policy lives in the worker and counts the ledger's attempts, so
 * BullMQ must never end a job by itself: attempts without end, and a delay that the worker names.
 * Stack traces would keep a copy of the user's errors in Redis for each attempt.
 */
export const JOB_OPTIONS = {
  attempts: 1_000_000,
  backoff: { type: "millrace" },
  stackTraceLimit: 0,
} as const satisfies JobsOptions;

/** A new job as `addBulk` takes it. */
export function toBulkJob({ id, name, data }: NewJob): BulkJob {
  return { name, data, opts: { ...JOB_OPTIONS, jobId: id } };
}

interface BulkJob extends Omit<NewJob, "id"> {
  readonly opts: JobsOptions;
}

/**
 * Completed jobs stay ten minutes or 10,000 a queue, whichever is less; the long memory is the
 * ledger's. It is the worker's option and not each job's: the job hashes stay small, and a change
 * holds for jobs that wait already.
 */
export const KEEP_COMPLETED: KeepJobs = { age: 600, count: 10_000 };

/** Entries of a queue's event stream that BullMQ keeps. Nothing of ours reads them. */
export const STREAMS = { events: { maxLen: 1_000 } };

import type { Job } from "bullmq";

/**
 * The name of a run of a job: when the job was added, and how many ended runs BullMQ had counted by then.
 * A worker that dies reports nothing, so the next run has the same name. So has the next run of a job
 * that Millrace retries by itself: its name is part of the reason that BullMQ stores, and BullMQ drops
 * the reason when a person retries a failed job. The name changes after such a retry, or in a job that
 * was added anew, and only then.
 */
export function runName(job: Pick<Job, "timestamp" | "attemptsMade" | "failedReason">): string {
  const kept = KEPT.exec(job.failedReason ?? "")?.[1];
  return kept ?? `${job.timestamp}.${job.attemptsMade}`;
}

/** The name of the run that ended last: BullMQ has counted its end, and the run had the number before. */
export function endedRunName(job: Parameters<typeof runName>[0]): string {
  const { timestamp, attemptsMade, failedReason } = job;
  return runName({ timestamp, attemptsMade: Math.max(0, attemptsMade - 1), failedReason });
}

/** A reason that keeps the name of the run which ended with it. */
export function keepingName(reason: string, run: string): string {
  return `${reason} [run ${run}]`;
}

const KEPT = / \[run (\d+\.\d+)\]$/;

import type { Job } from "bullmq";

/**
 * The name of a run of a job: when it was added, and how often BullMQ had been told of an end then. A
 * worker that dies tells nothing, so the next run has the same name. A job that we handed back to
 * come again keeps the name too, in the reason that BullMQ stores with it; BullMQ drops the reason
 * when someone retries a failed job. So after a retry, or in a job that was added anew, it is
 * another one, and only then.
 */
export function runName(job: Pick<Job, "timestamp" | "attemptsMade" | "failedReason">): string {
  const kept = KEPT.exec(job.failedReason ?? "")?.[1];
  return kept ?? `${job.timestamp}.${job.attemptsMade}`;
}

/** A reason that keeps the name of the run which ended with it. */
export function keepingName(reason: string, run: string): string {
  return `${reason} [run ${run}]`;
}

const KEPT = / \[run (\d+\.\d+)\]$/;

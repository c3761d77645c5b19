import type { Job } from "bullmq";
import { keepingName, runName } from "./run-name.ts";

/**
 * Thrown to BullMQ for a job that is to be tried again after a time of our choosing, in the same run:
 * nobody has retried it.
 */
export class ComesAgain extends Error {
  /** Milliseconds until the job is ready again. */
  readonly afterMs: number;

  constructor(job: Job, afterMs: number, reason: string) {
    super(keepingName(reason, runName(job)));
    this.name = "ComesAgain";
    this.afterMs = Math.max(0, Math.round(afterMs));
  }
}

const FALLBACK_MS = 30_000;

/**
 * The backoff strategy of every worker: the delay that the error names. What BullMQ itself throws
 * about a job (a lost lock) names none.
 */
export function delayOf(_attemptsMade: number, _type?: string, error?: Error): number {
  return error instanceof ComesAgain ? error.afterMs : FALLBACK_MS;
}

import type { ErrorCode } from "./error-codes.ts";
import type { StopSignal } from "./deadline.ts";
import type { MacProblem } from "./envelope.ts";
import type { EnvelopedEvent, Outcome } from "./event.ts";

export interface EventJob {
  readonly event: EnvelopedEvent;
  /** The reason not to trust the job; undefined when Millrace wrote it. */
  readonly mac?: MacProblem | undefined;
  /**
   * Changes when someone retries the failed job or adds it again, not when a worker died or handed
   * it back. A failed event whose job comes with the run that failed it was not retried.
   */
  readonly run: string;
  /** The handlers may have run, and were undone with their worker: no shared transaction. */
  readonly startedBefore?: boolean;
  readonly enqueuedAtMs: number;
  /** Aborts when the queue's lock on the job is lost, or the worker's time to stop is up. */
  readonly signal: StopSignal;
}

export type JobResult =
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "duplicate" }
  /** The job fails for good; nothing runs until someone retries the event. */
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly recorded?: boolean;
    }
  /** The attempt failed or could not start; the job runs again after `afterMs`. */
  | {
      readonly kind: "retry";
      readonly afterMs: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly recorded: boolean;
    }
  /** Another worker has the event, or has settled it since: this run wrote nothing. */
  | { readonly kind: "lost"; readonly afterMs: number };

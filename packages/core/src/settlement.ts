import type { EnvelopedEvent } from "./envelope.ts";
import type { ErrorCode } from "./error-codes.ts";
import type { Outcome } from "./event.ts";

/** A job as the queue hands it to the processor: the event it stands for, and which run this is. */
export interface QueuedEvent {
  readonly event: EnvelopedEvent;
  /**
   * The queue's name for this run of the job. It changes when someone retries the failed job, or
   * adds it anew, and stays when a worker died or handed the job back. So a failed event whose job
   * comes again under the same name was not retried by anyone.
   */
  readonly run: string;
  /** When the queue took the job in, milliseconds since the epoch. */
  readonly enqueuedAtMs: number;
  /** Aborts when the queue's lock on the job is lost, or the worker's time to stop is up. */
  readonly signal: AbortSignal;
}

/** What became of one run of a job; the queue's worker turns it into BullMQ's terms. */
export type Settlement =
  /** The handlers ran (or none was there to run) and their writes are committed. */
  | { readonly kind: "completed"; readonly outcome: Outcome }
  /** The ledger has it completed already: the job ends, nothing ran. */
  | { readonly kind: "duplicate" }
  /** Nothing more is tried until someone retries: the job fails for good. */
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      /** True when the ledger has the body, so that the job need not carry it any longer. */
      readonly recorded?: boolean;
    }
  /** The attempt failed, or could not begin; the job comes again after `afterMs`. */
  | {
      readonly kind: "retry";
      readonly afterMs: number;
      readonly code: ErrorCode;
      readonly message: string;
      /** True when the ledger has the body, so that the job need not carry it any longer. */
      readonly recorded: boolean;
    }
  /** Another worker holds or has settled the event since: this run wrote nothing. */
  | { readonly kind: "lost"; readonly afterMs: number };

import type { ErrorCode } from "./error-codes.ts";
import type { StopSignal } from "./lazy-signal.ts";

/**
 * What an event store answers for one event. An error is not thrown, because the other events of the
 * call may have been stored.
 */
export type StoreResult =
  /** Stored now. */
  | "accepted"
  /** Stored before. */
  | "duplicate"
  /** Stored before, and failed for good since. */
  | "failed"
  /** Stored before with another body, which is kept. Takes precedence over `failed`. */
  | "conflict"
  /** Not stored. */
  | Error;

/** What the ledger answers when a job is recorded: an attempt that is ours to run, or why there is none. */
export type Claim = ClaimKind & {
  /** The job's body differs from the body that came first for this event, which is kept. */
  readonly conflict?: true;
};

type ClaimKind =
  /** A new attempt was counted and committed. */
  | {
      readonly kind: "claimed";
      /** The fence: attempts of this event so far, this one included. It never goes back. */
      readonly attempt: number;
      /** Which attempt this is since the event was first seen or last retried, from 1. */
      readonly attemptSinceRetry: number;
      /** The event was new: the ledger's headers and body are those of the job. */
      readonly isNew?: true;
    }
  /** Completed before: the job is a duplicate. */
  | { readonly kind: "completed" }
  /** Failed before in this same run of the job, or Postgres cannot hold the event. */
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string }
  /** Another transaction holds the event's row, or another job of the same call has the event. */
  | { readonly kind: "busy" }
  /** Postgres refused this one job, for a reason that is not the job's data. Nothing was written. */
  | { readonly kind: "unrecorded"; readonly error: unknown }
  /** The job carries no body and the ledger does not know the event. */
  | { readonly kind: "body_missing" }
  /** The ledger does not know the event, and it was accepted longer ago than identities are kept: it
   * may have been handled and deleted since. */
  | { readonly kind: "identity_expired" };

/** An event as an attempt reads it, under its row lock. */
export interface LockedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** True when the body is another event's and the id is not signed: no handler may run. Always
   * false without `bodyDedup`. */
  readonly suspectedReplay: boolean;
}

/** What limits an attempt, and what is checked before its handlers run. */
export interface AttemptLimits {
  /** Milliseconds that Postgres gives each statement of the handler. */
  readonly statementTimeoutMs: number;
  /** When it aborts, the transaction is undone and the signal's reason is thrown. It is the only thing
   * that ends a handler which does not return. */
  readonly signal: StopSignal;
  /** The event's headers and body, if the caller knows what the ledger has; they are read otherwise. */
  readonly event?: Pick<LockedEvent, "headers" | "body"> | undefined;
  /** True to compare the event's body with the bodies of the 24 hours before it. Default false. */
  readonly bodyDedup?: boolean;
}

/** How an attempt failed, as the ledger records it. */
export interface AttemptFailure {
  readonly code: ErrorCode;
  /** The error's message as people see it, cut to 8 kB. */
  readonly message: string;
  /** True makes the event `failed`; false leaves it `pending` for the next attempt. */
  readonly final: boolean;
  /** False when the attempt is given back: Postgres was at fault, or the worker was closing. */
  readonly counts: boolean;
  /** The queue's run, kept with a final failure. */
  readonly run: string;
}

import type { ErrorCode } from "./error-codes.ts";

/**
 * What a durable place says of one event. An error is not thrown, because the other events of the
 * call may have been taken.
 */
export type Placement =
  /** It has it now. */
  | "accepted"
  /** It had it before. */
  | "duplicate"
  /** It had it before, and it has failed for good. */
  | "failed"
  /** It had it before, with another body, and keeps the first. Goes before `failed`. */
  | "conflict"
  /** It could not take it. */
  | Error;

/** What the record says of one job: it is ours to run, or why not. */
export type Claim = ClaimKind & {
  /** The job's body is not the one that came first under this identity; that one is kept. */
  readonly conflict?: true;
};

type ClaimKind =
  /** A new attempt was counted and committed. */
  | {
      readonly kind: "claimed";
      /** The fence: attempts of this event so far, this one included. Grows for ever. */
      readonly attempt: number;
      /** Which attempt this is since the event was first seen or last retried, from 1. */
      readonly attemptSinceRetry: number;
    }
  /** Completed before: a duplicate. */
  | { readonly kind: "completed" }
  /** Failed before in this same run of the job; or an event that Postgres cannot hold. */
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string }
  /** Another transaction holds the row, or another job of the same call has it. */
  | { readonly kind: "busy" }
  /** The job carries no body and the ledger does not know the event. */
  | { readonly kind: "body_missing" }
  /** The ledger does not know the event, and its acceptance is older than identities are kept: it may
   * have been handled and forgotten. */
  | { readonly kind: "identity_expired" };

/** An attempt's event, read under its row lock. */
export interface LockedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** True when it has the body of another event and its id is not signed: it is not to be handled.
   * Always false where `bodyDedup` was not asked for. */
  readonly suspectedReplay: boolean;
}

/** How long an attempt may take, who may stop it before, and what is looked for at its begin. */
export interface AttemptLimits {
  /** Milliseconds until the transaction is undone and `handler_timeout` is thrown. */
  readonly timeoutMs: number;
  /** When it aborts, the transaction is undone and the signal's reason is thrown. */
  readonly signal: AbortSignal;
  /** True to compare the event's body with those of the 24 hours before it. Default false. */
  readonly bodyDedup?: boolean;
}

/** How an attempt ended that ran no handler to its end, or whose handler threw. */
export interface AttemptFailure {
  readonly code: ErrorCode;
  /** What people are shown: the error's own words, cut to 8 kB. */
  readonly message: string;
  /** True makes the event `failed`; false leaves it `pending` for the next attempt. */
  readonly final: boolean;
  /** False when the database was at fault: the attempt is given back. */
  readonly counts: boolean;
  /** The queue's run, kept with a final failure. */
  readonly run: string;
}

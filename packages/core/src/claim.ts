import type { ErrorCode } from "./error-codes.ts";
import type { EmittedEvent } from "./event.ts";

/** A store's answer for one event. An error is returned: other events of the call may be stored. */
export type StoreResult =
  | "accepted"
  | "duplicate"
  | "failed"
  | "completed"
  /** Stored before with another body, which is kept. Takes precedence over `failed`. */
  | "conflict"
  | Error;

export const DELIVERY_OUTCOMES = ["accepted", "duplicate", "conflict", "failed"] as const;
export type DeliveryOutcome = (typeof DELIVERY_OUTCOMES)[number];

/** The ledger's answer to the record of a job: an attempt to run, or a reason against one. */
export type Claim = ClaimKind & {
  /** The job's body, type, or `unsigned` differs from what came first, which is kept. */
  readonly conflict?: true;
};

type ClaimKind =
  | {
      readonly kind: "claimed";
      /** The fence: attempts of this event so far, this one included. It never goes back. */
      readonly attempt: number;
      /** Which attempt this is since the event was first seen or last retried, from 1. */
      readonly attemptSinceRetry: number;
      /** Attempts of this event so far in which its handler asked to wait (`RetryLater`). */
      readonly waits: number;
      readonly pendingForMs: number;
      /** Of a copy, the event that it repeats. No handler may run. */
      readonly copyOf?: CopyOf | undefined;
      /** The event was new: the ledger's headers and body are those of the job. */
      readonly isNew?: true;
      /** The ledger's values of an event that was not new. */
      readonly stored?: {
        readonly type: string;
        readonly unsigned: boolean;
        readonly acceptedAtMs: number;
      };
    }
  | { readonly kind: "completed" }
  /** Failed before in this same run of the job, or Postgres cannot hold the event. */
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string }
  /** Another transaction holds the event's row, or another job of the same call has the event. */
  | { readonly kind: "busy" }
  /** Postgres refused this one job, and not for its data. Nothing was written. */
  | { readonly kind: "unrecorded"; readonly error: unknown }
  /** The job carries no body and the ledger does not know the event. */
  | { readonly kind: "body_missing" }
  /** Its key has expired: the event may have been handled and deleted since. */
  | { readonly kind: "identity_expired" };

/** The event whose signed message a copy repeats; without values if it is not known any more. */
export interface CopyOf {
  readonly eventId?: string;
  readonly type?: string;
  readonly recordedAtMs?: number;
}

export interface LockedEvent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export type OnEmitted = (events: readonly EmittedEvent[]) => void;

export interface StackFrame {
  /** Relative to the project for its own code; `node_modules/<package>/...` or `node:...`. */
  readonly file: string;
  readonly line: number | null;
  readonly column: number | null;
  readonly function: string | null;
  readonly own: boolean;
}

export interface LoggedLine {
  readonly at: string;
  readonly level: "debug" | "info" | "warn" | "error";
  /** The message and the fields as JSON, cut to 1 kB. */
  readonly text: string;
}

export interface ErrorDetails {
  /** `1-` and 16 hexadecimal digits, equal for equal errors. The number is the method's version. */
  readonly fingerprint: string;
  readonly title: string;
  /** Where it was thrown: at most 32 frames, the innermost first. */
  readonly stack: readonly StackFrame[];
  readonly log: readonly LoggedLine[];
  readonly logDropped: number;
}

export interface AttemptFailure {
  readonly code: ErrorCode;
  /** The error's message as people see it, cut to 8 kB. */
  readonly message: string;
  readonly final: boolean;
  /** False when the attempt is given back: a wait, a fault of Postgres, or a closing worker. */
  readonly counts: boolean;
  /** Milliseconds until the next attempt is due; of no account when it was the last one. */
  readonly afterMs: number;
  readonly run: string;
  /** Undefined for an attempt that was given back, or that another worker has. */
  readonly details?: ErrorDetails | undefined;
}

import type { ErrorCode, EventStatus, Outcome } from "@millrace/core";
import type { EventRow } from "@millrace/api-contract";

/** How a delivery is made. */
export interface DeliverOptions {
  /** The event's id; a fresh one by default. The same id again is a duplicate. */
  readonly id?: string;
  /** Attempts at the most, one right after the other without the waits between them. Default 1;
   * `Infinity` goes on until the event is settled. */
  readonly attempts?: number;
}

/** An event as the ledger has it after a delivery, and what its last attempt ended with. */
export interface DeliveredEvent {
  /** `pending` when the attempt failed and another one follows. */
  readonly status: EventStatus;
  readonly outcome: Outcome | null;
  /** Attempts of this event so far. */
  readonly attempts: number;
  /** Why it is not completed: what the ledger keeps, and as `cause` what the handler threw. */
  readonly error:
    | { readonly code: ErrorCode | null; readonly message: string; readonly cause: unknown }
    | undefined;
  /** Milliseconds that a worker would wait before the next attempt; undefined when none was asked for
   * or none follows. Drawn at random up to the policy's backoff, unless the handler threw RetryLater. */
  readonly nextAttemptInMs: number | undefined;
  /** The row, as `GET /api/events` gives it. */
  readonly event: EventRow;
}

/** What became of a delivery: the first of its events, and all of them. */
export interface Delivered extends DeliveredEvent {
  /** What the sender was answered. */
  readonly answer: { readonly status: number; readonly body: string };
  readonly events: readonly DeliveredEvent[];
}

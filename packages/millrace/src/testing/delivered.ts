import type { ErrorCode, EventStatus, JsonPayload, Outcome } from "@millrace/core";
import type { EventRow } from "@millrace/api-contract";

/** The options of a delivery. */
export interface DeliverOptions {
  /** The event's id; a fresh one by default. The same id again is a duplicate. */
  readonly id?: string;
  /** The tenant, of a source with `secrets`, which are not read. Default: `test`. */
  readonly tenant?: string;
  /** Attempts at the most, one right after the other without the waits between them. Default 1;
   * `Infinity` goes on until the event is settled, or its handler asks to wait. */
  readonly attempts?: number;
  /**
   * Also runs the emitted events, and the events that those emit, until no due one is left: each up
   * to `attempts`, which is `Infinity` here by default. Events with a later due time wait for
   * `advance`.
   */
  readonly settle?: boolean;
}

/** A step of `once` that has ended. */
export interface RecordedStep {
  readonly name: string;
  /** The result, as JSON keeps it. */
  readonly result: JsonPayload;
}

/** An event as the ledger has it after a delivery, with the end of its last attempt. */
export interface DeliveredEvent {
  /** `pending` when the attempt failed and another one follows. */
  readonly status: EventStatus;
  readonly outcome: Outcome | null;
  /** Attempts of this event so far. */
  readonly attempts: number;
  /**
   * The error of an event that is not completed: the ledger's text, and the handler's error as
   * `cause`.
   */
  readonly error:
    | { readonly code: ErrorCode | null; readonly message: string; readonly cause: unknown }
    | undefined;
  /**
   * Milliseconds until the next attempt is due; undefined when it is due at once or there is none.
   * After a failure it is random up to the policy's backoff, unless the handler threw RetryLater.
   */
  readonly nextAttemptInMs: number | undefined;
  /** The row, as `GET /api/events` gives it. */
  readonly event: EventRow;
  /** The body as JSON; null when it is no JSON. */
  readonly payload: JsonPayload;
  /** Steps of `once` that have ended, in that order. */
  readonly steps: readonly RecordedStep[];
}

/** A delivery after its attempts: the first of its events, and all of them. */
export interface Delivered extends DeliveredEvent {
  /** The answer to the sender. */
  readonly answer: { readonly status: number; readonly body: string };
  readonly events: readonly DeliveredEvent[];
}

import type {
  CircuitBreaker,
  ErrorCode,
  EventKey,
  IncomingEvent,
  StoreResult,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

export type StoreName = "queue" | "ledger";

/** A store that keeps events before they are acknowledged: the queue or the ledger. */
export interface EventStore {
  readonly name: StoreName;
  /** Stores events: one result each, in order. When it throws, none of them counts as stored. */
  put(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]>;
  /** Resolves when the store answers. */
  ping(): Promise<unknown>;
  /** True when the store answers but should not receive more events of this source. Called for
   * every delivery. */
  isFull(source: string): boolean;
  /** The reason why the store may lose an event; undefined without one. */
  risk?(): ErrorCode | undefined;
  /**
   * The circuit breaker of the store's client for a source, whose client has a deadline too. A
   * store without one gets both from its `StoreWriter`.
   */
  breakerOf?(source: string): StoreBreaker;
}

export type StoreBreaker = Pick<CircuitBreaker, "isOpen" | "trip">;

/** An event store that does some of its work after it has answered. */
export interface ClosableEventStore extends EventStore {
  /** Finishes that work, for `timeoutMs` at most. Call it after the last `put`. */
  close(timeoutMs: number): Promise<void>;
}

/** The part of the queue client that the event stores use. */
export type QueueClient = Pick<Queues, "enqueue" | "ping" | "pressure">;

/** The part of the ledger that the event stores use. */
export type LedgerClient = Pick<Ledger["intake"], "accept" | "markEnqueued" | "ping">;

/** Runs events again because their sender has delivered them again. */
export interface RedeliveryPort {
  /**
   * Runs the latest generation of an event whose job has ended. `not_needed` when there was
   * nothing to do.
   */
  retry(event: IncomingEvent): Promise<"retried" | "not_needed">;
  /**
   * Of events whose jobs have completed, true where the ledger has it as not completed. Undefined
   * without a ledger.
   */
  readonly areNotCompleted?:
    ((events: readonly EventKey[]) => Promise<readonly boolean[]>) | undefined;
}

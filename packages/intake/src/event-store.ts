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

export interface EventStore {
  readonly name: StoreName;
  /** Stores events: one result each, in order. When it throws, none of them counts as stored. */
  put(events: readonly IncomingEvent[]): Promise<readonly StoreResult[]>;
  ping(): Promise<unknown>;
  /** True when the store answers but should get no more of a source. Called for every delivery. */
  isFull(source: string): boolean;
  /** The reason why the store may lose an event; undefined without one. */
  risk?(): ErrorCode | undefined;
  /** A store without a breaker gets one, and a deadline, from its `StoreWriter`. */
  readonly breaker?: StoreBreaker;
}

export type StoreBreaker = Pick<CircuitBreaker, "isOpen" | "trip">;

export interface ClosableEventStore extends EventStore {
  close(timeoutMs: number): Promise<void>;
}

export type QueueClient = Pick<Queues, "enqueue" | "ping" | "pressure" | "breaker">;

export type LedgerClient = Pick<Ledger["intake"], "accept" | "markEnqueued" | "ping">;

export interface RedeliveryPort {
  /** Runs the latest generation of an event whose job has ended. */
  retry(event: IncomingEvent): Promise<"retried" | "not_needed">;
  /** Of events whose jobs have completed, true where the ledger has it as not completed. */
  readonly areNotCompleted?:
    ((events: readonly EventKey[]) => Promise<readonly boolean[]>) | undefined;
}

import type { EventKey, IncomingEvent, Placement } from "@millrace/core";

/** A place that keeps events through a crash: the queue, or the ledger. */
export interface DurablePlace {
  readonly name: "queue" | "ledger";
  /** Takes events in; one answer an event, in order. May throw, which is an error for all. */
  put(events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
  /** Resolves when it answers. Asked from time to time while it is shut. */
  ping(): Promise<unknown>;
  /** Whether nothing more of a source should go there just now, though it answers. Asked on every
   * delivery. */
  isFull(source: string): boolean;
}

/** A place that does some of its work after it has answered. */
export interface ClosablePlace extends DurablePlace {
  /** Ends that work, after `timeoutMs` at the latest. Call it when nothing more is put. */
  close(timeoutMs: number): Promise<void>;
}

/** What a place needs of the queue. */
export interface EnqueuePort {
  enqueue(
    events: readonly IncomingEvent[],
    options?: { identityOnly?: boolean },
  ): Promise<readonly Placement[]>;
  ping(): Promise<unknown>;
  /** How full it is, as last looked. */
  pressure(): QueuePressure;
}

export interface QueuePressure {
  /** Used memory as a part of what the server may use; undefined where it has no limit. */
  readonly memoryShare: number | undefined;
  of(source: string): { readonly depth: number; readonly oldestAgeMs: number | undefined };
}

/** What a place needs of the ledger. */
export interface AcceptPort {
  /** Records events as pending, with their bodies, in one commit. */
  accept(events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
  /** Notes that jobs of events are on the queue. */
  markEnqueued(keys: readonly EventKey[]): Promise<void>;
  ping(): Promise<unknown>;
}

/** Where deliveries are noted whose body is not the one that was kept. */
export interface ConflictPort {
  noteConflicts(deliveries: readonly ConflictingDelivery[]): Promise<void>;
}

export type ConflictingDelivery = Pick<IncomingEvent, "source" | "eventId" | "bodyHash">;

/** Makes a failed event run again, because its sender has delivered it again. */
export interface RedeliveryPort {
  /** Resolves when its job waits, or when there is nothing to be done. */
  retry(event: EventKey): Promise<unknown>;
}

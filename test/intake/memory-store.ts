import type { IncomingEvent, StoreResult } from "@millrace/core";
import type { EventStore } from "@millrace/intake";

/** A store in memory that a test can make slow, hung or broken. */
export interface MemoryStore extends EventStore {
  isUp: boolean;
  answered: number;
  readonly full: Set<string>;
  /** What it says of ids that it would have accepted. */
  readonly known: Map<string, StoreResult>;
  readonly events: ReadonlyMap<string, IncomingEvent>;
  readonly calls: readonly number[];
  /** What a call waits for before it answers; reset with undefined. */
  before: (() => Promise<unknown>) | undefined;
  readonly refused: Set<string>;
}

export function createMemoryStore(name: EventStore["name"] = "queue"): MemoryStore {
  const events = new Map<string, IncomingEvent>();
  const calls: number[] = [];
  const refused = new Set<string>();
  const store: MemoryStore = {
    name,
    isUp: true,
    answered: 0,
    full: new Set(),
    known: new Map(),
    events,
    calls,
    refused,
    before: undefined,
    put: async (batch) => {
      calls.push(batch.length);
      await store.before?.();
      return batch.map((event): StoreResult => {
        if (refused.has(event.eventId)) return new Error("refused");
        const key = `${event.source}/${event.eventId}`;
        const known = store.known.get(event.eventId);
        if (known !== undefined) return known;
        if (events.has(key)) return "duplicate";
        events.set(key, event);
        return "accepted";
      });
    },
    ping: async () => {
      if (!store.isUp) throw new Error("down");
      store.answered += 1;
    },
    isFull: (source) => store.full.has(source),
  };
  return store;
}

import type { IncomingEvent, StoreResult } from "@millrace/core";
import type { EventStore } from "@millrace/intake";

export interface MemoryStore extends EventStore {
  isUp: boolean;
  answered: number;
  readonly full: Set<string>;
  readonly known: Map<string, StoreResult>;
  readonly events: ReadonlyMap<string, IncomingEvent>;
  readonly calls: readonly number[];
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

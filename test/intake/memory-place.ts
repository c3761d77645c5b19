import type { IncomingEvent, Placement } from "@millrace/core";
import type { DurablePlace } from "@millrace/intake";

/** A place in memory that a test can make slow, hung or broken. */
export interface MemoryPlace extends DurablePlace {
  /** Whether it answers probes. */
  isUp: boolean;
  /** How many it has answered. */
  answered: number;
  /** Sources that it is full for. */
  readonly full: Set<string>;
  /** What it says of ids that it would have accepted. */
  readonly known: Map<string, Placement>;
  readonly events: ReadonlyMap<string, IncomingEvent>;
  /** How many events each call brought. */
  readonly calls: readonly number[];
  /** What a call waits for before it answers; reset with undefined. */
  before: (() => Promise<unknown>) | undefined;
  /** Event ids that it cannot take. */
  readonly refused: Set<string>;
}

export function createMemoryPlace(name: DurablePlace["name"] = "queue"): MemoryPlace {
  const events = new Map<string, IncomingEvent>();
  const calls: number[] = [];
  const refused = new Set<string>();
  const place: MemoryPlace = {
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
      await place.before?.();
      return batch.map((event): Placement => {
        if (refused.has(event.eventId)) return new Error("refused");
        const key = `${event.source}/${event.eventId}`;
        const known = place.known.get(event.eventId);
        if (known !== undefined) return known;
        if (events.has(key)) return "duplicate";
        events.set(key, event);
        return "accepted";
      });
    },
    ping: async () => {
      if (!place.isUp) throw new Error("down");
      place.answered += 1;
    },
    isFull: (source) => place.full.has(source),
  };
  return place;
}

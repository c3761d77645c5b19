import { createCoalescer, within, type IncomingEvent, type Placement } from "@millrace/core";
import type { GuardedPlace } from "./guarded-place.ts";

export interface PlacerOptions {
  /** Events that share one call to the place. */
  readonly batchMax: number;
  /** Calls to the place that are under way at once. */
  readonly callsMax: number;
  /** Milliseconds that a delivery waits for it. */
  readonly timeoutMs: number;
}

/** The way of deliveries into one durable place. */
export interface Placer {
  readonly name: GuardedPlace["name"];
  /** Whether the place takes events of a source just now. */
  takes(source: string): boolean;
  /**
   * Puts one delivery's events, and answers for each, in order. Never rejects, and never takes longer
   * than `timeoutMs`. An event that was answered with an error may still have been taken.
   */
  put(events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
}

/** One delivery's wait. What waits behind a hung call is let go, with its bodies, once nobody waits
 * for it. */
interface Ticket {
  events: readonly IncomingEvent[] | undefined;
}

interface Waiting {
  readonly ticket: Ticket;
  readonly index: number;
}

const NOT_PUT = new Error("Cannot place the event: its sender was answered before its turn came");

/**
 * Puts the events of many deliveries into a place with few calls, and answers each delivery from
 * its own events' results.
 */
export function createPlacer(
  place: Pick<GuardedPlace, "name" | "takes" | "put">,
  { batchMax, callsMax, timeoutMs }: PlacerOptions,
): Placer {
  const coalescer = createCoalescer<Waiting, Placement>(putAll, {
    sizeMax: batchMax,
    inFlightMax: callsMax,
  });

  async function put(events: readonly IncomingEvent[]): Promise<readonly Placement[]> {
    const ticket: Ticket = { events };
    const results = Promise.all(events.map((_, index) => coalescer.add({ ticket, index })));
    try {
      return await within(results, timeoutMs, late);
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error));
      return events.map(() => failure);
    } finally {
      ticket.events = undefined;
    }
  }

  async function putAll(waiting: readonly Waiting[]): Promise<readonly Placement[]> {
    const live: IncomingEvent[] = [];
    for (const { ticket, index } of waiting) {
      const event = ticket.events?.[index];
      if (event !== undefined) live.push(event);
    }
    if (live.length === waiting.length) return await place.put(live);
    if (live.length === 0) return waiting.map(() => NOT_PUT);
    const isLive = waiting.map(({ ticket }) => ticket.events !== undefined);
    const answers = (await place.put(live)).values();
    return isLive.map((wasPut) => (wasPut ? (answers.next().value ?? NOT_PUT) : NOT_PUT));
  }

  const late = () => new Error(`Cannot reach the ${place.name}: no answer within ${timeoutMs} ms`);

  return { name: place.name, takes: (source) => place.takes(source), put };
}

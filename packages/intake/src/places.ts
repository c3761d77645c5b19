import { failpoint, type IncomingEvent, type Placement } from "@millrace/core";
import type { Placer } from "./placer.ts";
import type { DurablePlace } from "./ports.ts";
import type { ReadySource } from "./ready-sources.ts";

/** A larger body goes to the ledger first: Redis keeps all of it in memory, and sends it whole. */
const QUEUED_BODY_BYTES_MAX = 256 * 1024;

type Name = DurablePlace["name"];
type Routed = Pick<ReadySource, "name" | "ack">;

/** The durable places of a process, in the order in which each source wants them. */
export interface Places {
  /**
   * Puts a delivery's events into the first place that takes them; what it did not take in time goes
   * to the second. One answer an event, in order. Never rejects.
   */
  put(source: Routed, events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
  /** Where a source's next delivery goes. */
  inForce(source: Routed): Placing;
}

/** The durable place in force for a source. */
export interface Placing {
  readonly source: string;
  /** Undefined while none takes its events. */
  readonly place: Name | undefined;
  /** Where its events go when all is well. */
  readonly first: Name | undefined;
}

/** Makes one way into one or two places. */
export function createPlaces(placers: readonly Placer[]): Places {
  const orders: Record<Name, readonly Placer[]> = {
    queue: inOrder(placers, "queue"),
    ledger: inOrder(placers, "ledger"),
  };

  async function put({ name, ack }: Routed, events: readonly IncomingEvent[]) {
    const order = events.some(isLarge) ? orders.ledger : orders[ack];
    let placements: readonly Placement[] | undefined;
    for (const placer of order) {
      if (!placer.takes(name)) continue;
      if (placements !== undefined) failpoint("ingress.fallen_back");
      placements = await putMissing(placer, events, placements);
      if (!placements.some(isMissing)) break;
    }
    return placements ?? events.map(() => NO_PLACE);
  }

  return {
    put,
    inForce: ({ name, ack }) => ({
      source: name,
      place: orders[ack].find((placer) => placer.takes(name))?.name,
      first: orders[ack][0]?.name,
    }),
  };
}

const NO_PLACE = new Error("Cannot place the event: no durable place takes it");
const isMissing = (placement: Placement | undefined): placement is Error =>
  placement instanceof Error;
const isLarge = ({ body }: IncomingEvent): boolean => body.byteLength > QUEUED_BODY_BYTES_MAX;

function inOrder(placers: readonly Placer[], first: Name): readonly Placer[] {
  return placers.toSorted((a, b) => Number(b.name === first) - Number(a.name === first));
}

/** Puts those events that no place has yet. */
async function putMissing(
  placer: Placer,
  events: readonly IncomingEvent[],
  placements: readonly Placement[] | undefined,
): Promise<readonly Placement[]> {
  if (placements === undefined) return await placer.put(events);
  const missing = events.filter((_, index) => isMissing(placements[index]));
  const answers = await placer.put(missing);
  const turns = answers.values();
  return placements.map((placement) =>
    isMissing(placement) ? (turns.next().value ?? NO_PLACE) : placement,
  );
}

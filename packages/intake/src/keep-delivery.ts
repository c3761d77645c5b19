import type { IncomingEvent, Placement } from "@millrace/core";
import type { Notify } from "./notice.ts";
import type { Places } from "./places.ts";
import type { ReadySource } from "./ready-sources.ts";
import type { Redeliver } from "./redeliver.ts";

/** What became of a delivery's events, all of them together. */
export type Kept = "accepted" | "duplicate" | "unavailable";

interface Deps {
  readonly places: Places;
  /** Runs failed events again; undefined where nothing can. */
  readonly redeliver: Redeliver | undefined;
  readonly notify: Notify;
  /** Milliseconds that all of it may take. */
  readonly timeoutMs: number;
}

/**
 * Puts one delivery's events into a durable place, and does what an event that was there before asks
 * for: a failed one is run again, and another body under a known id is told. Never rejects.
 */
export async function keepDelivery(
  source: ReadySource,
  events: readonly IncomingEvent[],
  { places, redeliver, notify, timeoutMs }: Deps,
): Promise<Kept> {
  if (events.length === 0) return "accepted";
  const startedMs = performance.now();
  const placements = await places.put(source, events);
  if (placements.some((placement) => placement instanceof Error)) return "unavailable";
  for (const event of those(events, placements, "conflict")) {
    notify({ kind: "conflict", source: source.name, eventId: event.eventId });
  }
  if (redeliver !== undefined && source.redelivery === "retry") {
    const failed = those(events, placements, "failed");
    const leftMs = timeoutMs - (performance.now() - startedMs);
    if (failed.length > 0 && !(await redeliver(failed, leftMs))) return "unavailable";
  }
  return placements.includes("accepted") ? "accepted" : "duplicate";
}

function those(
  events: readonly IncomingEvent[],
  placements: readonly Placement[],
  answer: "conflict" | "failed",
): readonly IncomingEvent[] {
  if (!placements.includes(answer)) return NONE;
  return events.filter((_, index) => placements[index] === answer);
}

const NONE: readonly IncomingEvent[] = [];

import {
  isStorable,
  MillraceError,
  type EventStatus,
  type IncomingEvent,
  type Placement,
} from "@millrace/core";
import { messageOf } from "./database-trouble.ts";
import { compareKeys, keyText } from "./event-key.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { chunkEvents, packEvents } from "./pack-events.ts";
import { withPartitions } from "./partitions.ts";
import { ACCEPT } from "./sql/accept.ts";
import { isDataError } from "./sqlstate.ts";
import { runStatement } from "./transaction.ts";

interface AcceptRow {
  readonly source: string;
  readonly event_id: string;
  readonly generation: number;
  /** Null when it is new. */
  readonly status: EventStatus | null;
  readonly conflict: true | null;
}

/**
 * Records events as pending, with their bodies, in one commit: one answer an event, in order. An
 * answer but an error means that the event is on disk; `failed` and `conflict` say more of one that
 * was there before, and a conflict is noted. A repeat within the call is a duplicate.
 *
 * @throws `database_unavailable`
 */
export async function accept(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<readonly Placement[]> {
  const variants = new Map<string, IncomingEvent>();
  for (const event of events) {
    const name = variantText(event);
    if (!variants.has(name) && isAcceptable(event)) variants.set(name, event);
  }
  const placements = await acceptInRounds(ledger, [...variants.values()]);
  return events.map((event) => {
    if (!isAcceptable(event)) return refusal("its text holds a NUL or half a surrogate pair");
    const name = variantText(event);
    const placement = placements.get(name) ?? "duplicate";
    // A repeat within the call is a duplicate, unless the first of them could not be taken.
    if (placement === "accepted") placements.set(name, "duplicate");
    return placement;
  });
}

/** An event and its body. */
function variantText(event: IncomingEvent): string {
  return `${event.bodyHash}\0${keyText(event)}`;
}

/** Of one event that came with several bodies at once, each goes in a statement of its own: the
 * first is kept, and the others find it there. */
async function acceptInRounds(
  ledger: LedgerContext,
  variants: readonly IncomingEvent[],
): Promise<Map<string, Placement>> {
  const placements = new Map<string, Placement>();
  let rest = variants;
  while (rest.length > 0) {
    const round = new Map<string, IncomingEvent>();
    const others: IncomingEvent[] = [];
    for (const event of rest) {
      const key = keyText(event);
      if (round.has(key)) others.push(event);
      else round.set(key, event);
    }
    const unique = [...round.values()].toSorted(compareKeys);
    for (const chunk of chunkEvents(unique, (event) => event)) {
      for (const [event, placement] of await acceptChunk(ledger, chunk)) {
        placements.set(variantText(event), placement);
      }
    }
    rest = others;
  }
  return placements;
}

function isAcceptable(event: IncomingEvent): boolean {
  return [event.source, event.eventId, event.type].every(isStorable);
}

function refusal(reason: string, cause?: unknown): MillraceError {
  return new MillraceError("internal", `Cannot record the event: ${reason}`, { cause });
}

async function acceptChunk(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, Placement>> {
  try {
    return await acceptOnce(ledger, events);
  } catch (error) {
    const [only] = events;
    if (events.length === 1 && only !== undefined && isDataError(error)) {
      return new Map([[only, refusal(messageOf(error), error)]]);
    }
    if (events.length > 1 && isDataError(error)) return await acceptSingly(ledger, events);
    throw error;
  }
}

// One event's fault must not be the others': each goes alone, and has its own answer.
async function acceptSingly(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, Placement>> {
  const placements = new Map<IncomingEvent, Placement>();
  for (const event of events) {
    try {
      for (const [, placement] of await acceptChunk(ledger, [event])) {
        placements.set(event, placement);
      }
    } catch (error) {
      placements.set(event, error instanceof Error ? error : refusal(String(error)));
    }
  }
  return placements;
}

async function acceptOnce(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, Placement>> {
  const placements = await runAccept(ledger, events);
  const unseen = events.filter((event) => !placements.has(event));
  if (unseen.length === 0) return placements;
  // Another call inserted these meanwhile; the next snapshot sees them.
  for (const [event, placement] of await runAccept(ledger, unseen)) {
    placements.set(event, placement);
  }
  return placements;
}

async function runAccept(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, Placement>> {
  const query = { name: "millrace_accept", text: ACCEPT, values: packEvents(events) };
  const { rows } = await withPartitions(ledger.pool, () =>
    runStatement<AcceptRow>(ledger.pool, query, ledger.short),
  );
  const found = new Map(
    rows.map((row) => [keyText({ ...row, eventId: row.event_id }), toPlacement(row)]),
  );
  const placements = new Map<IncomingEvent, Placement>();
  for (const event of events) {
    const placement = found.get(keyText(event));
    if (placement !== undefined) placements.set(event, placement);
  }
  return placements;
}

function toPlacement({ status, conflict }: AcceptRow): Placement {
  if (status === null) return "accepted";
  if (conflict === true) return "conflict";
  return status === "failed" ? "failed" : "duplicate";
}

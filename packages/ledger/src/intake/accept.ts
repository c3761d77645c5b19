import {
  isStorable,
  MillraceError,
  type EventKey,
  type EventStatus,
  type IncomingEvent,
  type StoreResult,
} from "@millrace/core";
import { messageOf } from "../connection/database-errors.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import {
  chunkEvents,
  INCOMING,
  INSERT_FRESH,
  keyText,
  NOTE_CONFLICT,
  sendEvents,
  type Conflict,
  GIVEN_EVENTS,
} from "../claims/event-batch.ts";
import { isDataError } from "../connection/sqlstate.ts";
import { statement } from "../connection/statement.ts";

interface AcceptRow extends EventKey {
  readonly status: EventStatus | null;
  readonly conflict: Conflict | null;
}

/** Records pending events: one result each, in order. Without an error, an event is on disk. */
export async function accept(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<readonly StoreResult[]> {
  const variants = new Map<string, IncomingEvent>();
  for (const event of events) {
    const name = variantText(event);
    if (!variants.has(name) && isAcceptable(event)) variants.set(name, event);
  }
  const results = await acceptInRounds(ledger, [...variants.values()]);
  return events.map((event) => {
    if (!isAcceptable(event)) return refusal("its text holds a NUL or half a surrogate pair");
    const name = variantText(event);
    const result = results.get(name) ?? "duplicate";
    // A repeat within the call is a duplicate, unless the first of them could not be taken.
    if (result === "accepted") results.set(name, "duplicate");
    return result;
  });
}

type Variant = Pick<IncomingEvent, keyof EventKey | "bodyHash">;

function variantText(event: Variant): string {
  return `${event.bodyHash}\0${keyText(event)}`;
}

/** One statement for each body: the first is kept, and the later ones find it. */
async function acceptInRounds(
  ledger: LedgerContext,
  variants: readonly IncomingEvent[],
): Promise<Map<string, StoreResult>> {
  const results = new Map<string, StoreResult>();
  let rest = variants;
  while (rest.length > 0) {
    const round = new Map<string, IncomingEvent>();
    const others: IncomingEvent[] = [];
    for (const event of rest) {
      const key = keyText(event);
      if (round.has(key)) others.push(event);
      else round.set(key, event);
    }
    for (const chunk of chunkEvents([...round.values()], (event) => event)) {
      for (const [event, result] of await acceptChunk(ledger, chunk)) {
        results.set(variantText(event), result);
      }
    }
    rest = others;
  }
  return results;
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
): Promise<Map<IncomingEvent, StoreResult>> {
  try {
    return await acceptOnce(ledger, events);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (events.length === 1) {
      return new Map(events.map((event) => [event, refusal(messageOf(error), error)]));
    }
  }
  // One bad event must not fail the others.
  const results = new Map<IncomingEvent, StoreResult>();
  for (const event of events) {
    try {
      for (const [, result] of await acceptChunk(ledger, [event])) results.set(event, result);
    } catch (error) {
      results.set(event, error instanceof Error ? error : refusal(String(error)));
    }
  }
  return results;
}

async function acceptOnce(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, StoreResult>> {
  const results = await runAccept(ledger, events);
  const unseen = events.filter((event) => !results.has(event));
  if (unseen.length === 0) return results;
  // Another call inserted these in the meantime; the next snapshot sees them.
  for (const [event, result] of await runAccept(ledger, unseen)) {
    results.set(event, result);
  }
  return results;
}

// Looks known rows up one at a time (LIMIT 1): a join may be answered from a hash of the whole
// table. A row inserted after the statement's snapshot is left out of the answer.
const ACCEPT = statement(
  `
WITH ${INCOMING}, ${INSERT_FRESH()},
seen AS MATERIALIZED (
  SELECT i.*, e.status, e.body_hash <> i.body_hash AS differs
  FROM incoming i
  CROSS JOIN LATERAL (
    SELECT status, body_hash FROM millrace.events e
    WHERE e.source = i.source AND e.event_id = i.event_id AND e.generation = i.generation
    LIMIT 1
  ) AS e
  WHERE i.known
)
SELECT source, event_id AS "eventId", generation, NULL AS status, NULL AS conflict FROM fresh
UNION ALL
SELECT source, event_id, generation, status,
  CASE WHEN differs THEN ${NOTE_CONFLICT("seen")} END
FROM seen`,
  "millrace_accept",
);

async function runAccept(
  ledger: LedgerContext,
  events: readonly IncomingEvent[],
): Promise<Map<IncomingEvent, StoreResult>> {
  const rows = await sendEvents<AcceptRow>(ledger, ACCEPT, events);
  const byKey = new Map(events.map((event) => [keyText(event), event]));
  const results = new Map<IncomingEvent, StoreResult>();
  for (const row of rows) {
    const event = byKey.get(keyText(row));
    if (event !== undefined) results.set(event, toStoreResult(row));
  }
  return results;
}

function toStoreResult({ status, conflict }: AcceptRow): StoreResult {
  if (status === null) return "accepted";
  if (conflict === "conflict" || conflict === "taken") return NOTED[conflict];
  return status === "failed" ? "failed" : "duplicate";
}

// A job keeps the body of a refused copy when the genuine event has taken the copy's row.
const NOTE_CONFLICTS = statement(
  `
SELECT source, event_id AS "eventId", generation, body_hash AS "bodyHash", CASE WHEN (
  SELECT e.body_hash = i.body_hash FROM millrace.events e
  WHERE e.source = i.source AND e.event_id = i.event_id AND e.generation = i.generation
  LIMIT 1
) THEN 'taken' ELSE ${NOTE_CONFLICT("i")} END AS noted
FROM (SELECT * FROM ${GIVEN_EVENTS} ORDER BY source, event_id, body_hash) AS i`,
  "millrace_note_conflicts",
);

type NotedRow = Variant & { readonly noted: Conflict };

/** Keeps other bodies of known events that the queue finds: a result for each, in order. */
export async function noteConflicts(
  ledger: LedgerContext,
  deliveries: readonly IncomingEvent[],
): Promise<readonly StoreResult[]> {
  const noted = new Map<string, Conflict>();
  const storable = deliveries.filter(({ source, eventId, type, bodyHash }) =>
    [source, eventId, type, bodyHash].every(isStorable),
  );
  for (const chunk of chunkEvents(storable, (event) => event)) {
    const rows = await sendEvents<NotedRow>(ledger, NOTE_CONFLICTS, chunk);
    for (const row of rows) noted.set(variantText(row), row.noted);
  }
  return deliveries.map((event) => NOTED[noted.get(variantText(event)) ?? "conflict"]);
}

/** An event that has a copy's row is pending, and gets its job as a failed one does. */
const NOTED = {
  conflict: "conflict",
  same: "duplicate",
  taken: "failed",
} as const satisfies Record<Conflict, StoreResult>;

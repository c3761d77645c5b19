import { isStorable, type IncomingEvent, type StoreResult } from "@millrace/core";
import {
  chunkEvents,
  GIVEN_EVENTS,
  keyText,
  NOTE_CONFLICT,
  packEvents,
  type Conflict,
} from "../claims/event-batch.ts";
import { lockMessages, packRules } from "../claims/same-message.ts";
import { withPartitions } from "../schema/bodies.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { statement } from "../connection/statement.ts";
import { runStatement } from "../connection/transaction.ts";

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

interface NotedRow {
  readonly source: string;
  readonly eventId: string;
  readonly generation: number;
  readonly bodyHash: string;
  readonly noted: Conflict;
}

/** Keeps other bodies of known events that the queue finds: a result for each, in order. */
export async function noteConflicts(
  ledger: LedgerContext,
  deliveries: readonly IncomingEvent[],
): Promise<readonly StoreResult[]> {
  const noted = new Map<string, Conflict>();
  const nameOf = (event: Omit<NotedRow, "noted">) => `${event.bodyHash}\0${keyText(event)}`;
  const storable = deliveries.filter(({ source, eventId, type, bodyHash }) =>
    [source, eventId, type, bodyHash].every(isStorable),
  );
  for (const chunk of chunkEvents(storable, (event) => event)) {
    const { rows } = await withPartitions(ledger.pool, () =>
      runStatement<NotedRow>(
        ledger.pool,
        NOTE_CONFLICTS({ ...packEvents(chunk), ...packRules(ledger, chunk) }),
        ledger.prepared,
        lockMessages(ledger, chunk),
      ),
    );
    for (const row of rows) noted.set(nameOf(row), row.noted);
  }
  return deliveries.map((event) => NOTED[noted.get(nameOf(event)) ?? "conflict"]);
}

/** An event that has a copy's row is pending, and gets its job as a failed one does. */
export const NOTED = {
  conflict: "conflict",
  same: "duplicate",
  taken: "failed",
} as const satisfies Record<Conflict, StoreResult>;

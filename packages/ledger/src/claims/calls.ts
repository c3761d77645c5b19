import type { EventKey, Outcome } from "@millrace/core";
import { IS_PENDING } from "./event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { BODY_OF, CONTENT, readContent, type ContentRow, type EventContent } from "./read-event.ts";
import { dailyStatement, statement } from "../connection/statement.ts";
import { runStatement, runStatementOn, withConnection } from "../connection/transaction.ts";

const IS_ATTEMPT = `e.source = :source AND e.event_id = :eventId AND e.generation = :generation
    AND ${IS_PENDING("e")} AND e.attempts = :attempt`;

export interface BegunEvent {
  readonly content: EventContent;
  /** Results of the steps that earlier attempts have ended, by name: JSON, or null. */
  readonly steps: ReadonlyMap<string, string | null>;
}

type BegunRow = ContentRow & { readonly steps: Readonly<Record<string, string | null>> | null };

const READ_BEGUN = dailyStatement(
  (day) => `
SELECT ${CONTENT}, (
  SELECT json_object_agg(s.name, s.result) FROM millrace.steps s
  WHERE :attempt::int > 1 AND s.source = e.source AND s.event_id = e.event_id AND s.generation = e.generation
) AS steps
FROM millrace.events e ${BODY_OF(day)}
WHERE ${IS_ATTEMPT}`,
  "millrace_read_begun",
);

/** Reads an event without a lock, unless it is settled or claimed since. @throws `body_missing` */
export async function readBegun(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
): Promise<BegunEvent | undefined> {
  const { pool, prepared } = ledger;
  const query = READ_BEGUN()({ ...key, attempt });
  return await withConnection(pool, prepared.deadlineMs, async ({ client }) => {
    const { rows } = await runStatementOn<BegunRow>(client, query, prepared);
    const [row] = rows;
    if (row === undefined) return undefined;
    const content = await readContent(client, row);
    return { content, steps: new Map(Object.entries(row.steps ?? {})) };
  });
}

// Locks the row against the record of a later attempt, which then reads the step. A step that this
// attempt recorded before stays: the answer to its COMMIT was lost.
const RECORD_STEP = statement(
  `
WITH mine AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation FROM millrace.events e
  WHERE ${IS_ATTEMPT}
  FOR SHARE OF e
),
recorded AS (
  INSERT INTO millrace.steps (source, event_id, generation, name, attempt, result)
  SELECT source, event_id, generation, :name, :attempt, :result FROM mine
  ON CONFLICT DO NOTHING
)
SELECT true AS recorded FROM mine`,
  "millrace_record_step",
);

/** Commits an ended step; `lost` when the event is not pending or claimed since. */
export async function recordStep(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
  step: { readonly name: string; readonly result: string | null },
): Promise<"recorded" | "lost"> {
  const query = RECORD_STEP({ ...key, ...step, attempt });
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "recorded" : "lost";
}

const COMPLETE_CALLED = statement(
  `
UPDATE millrace.events e
SET status = 'completed', outcome = :outcome, processed_at = clock_timestamp()
WHERE ${IS_ATTEMPT}
RETURNING true AS completed`,
  "millrace_complete_called",
);

/**
 * Completes an event whose handlers write nothing; `lost` when it is not pending or claimed since.
 * @throws `database_unavailable`: the event may be completed, and the next claim finds out
 */
export async function completeCalled(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
  outcome: Outcome,
): Promise<"completed" | "lost"> {
  const query = COMPLETE_CALLED({ ...key, attempt, outcome });
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "completed" : "lost";
}

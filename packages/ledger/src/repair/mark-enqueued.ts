import type { EventKey } from "@millrace/core";
import { packKeys } from "../claims/event-batch.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

// Skips a row that another transaction holds: a worker has its job, and notes that too. Looks rows
// up one at a time (LIMIT 1): a join may read all of the partial index of unmarked rows for each
// key, which costs twenty times as much for a backlog of ten thousand events.
const setEnqueued = (from: "IS NULL" | "IS NOT NULL", to: "now()" | "NULL") => `
WITH wanted AS MATERIALIZED (
  SELECT w.source, w.event_id, w.generation
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  WHERE (
    SELECT e.status = 'pending' AND e.enqueued_at ${from} FROM millrace.events e
    WHERE e.source = w.source AND e.event_id = w.event_id AND e.generation = w.generation
    LIMIT 1
  )
  ORDER BY w.source, w.event_id, w.generation
),
locked AS MATERIALIZED (
  SELECT e.*
  FROM wanted w
  CROSS JOIN LATERAL (
    SELECT source, event_id, generation, status, enqueued_at FROM millrace.events e
    WHERE e.source = w.source AND e.event_id = w.event_id AND e.generation = w.generation
    LIMIT 1
    FOR UPDATE SKIP LOCKED
  ) AS e
  WHERE e.status = 'pending' AND e.enqueued_at ${from}
)
UPDATE millrace.events e SET enqueued_at = ${to}
FROM locked l
WHERE e.source = l.source AND e.event_id = l.event_id AND e.generation = l.generation`;

type SetEnqueued = (ledger: LedgerContext, keys: readonly EventKey[]) => Promise<void>;

const run = (name: string, text: string): SetEnqueued => {
  return async ({ pool, prepared }, keys) => {
    if (keys.length > 0) await runStatement(pool, { name, text, values: packKeys(keys) }, prepared);
  };
};

/** Call it after enqueueing. Until then the reconciler may enqueue it too, without harm. */
export const markEnqueued = run("millrace_mark_enqueued", setEnqueued("IS NULL", "now()"));

/** Notes that pending events no longer have a job, so that the reconciler enqueues them. */
export const unmarkEnqueued = run("millrace_unmark_enqueued", setEnqueued("IS NOT NULL", "NULL"));

import type { EventKey } from "@millrace/core";
import { packKeys } from "./event-batch.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatement } from "./transaction.ts";

/**
 * Notes that jobs of pending events are on the queue. A row that another transaction holds is skipped:
 * a worker has its job, and notes that too when it records the job.
 */
const MARK_ENQUEUED = `
WITH unmarked AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status = 'pending' AND e.enqueued_at IS NULL
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
)
UPDATE millrace.events e SET enqueued_at = now()
FROM unmarked u
WHERE e.source = u.source AND e.event_id = u.event_id AND e.generation = u.generation`;

/**
 * Notes that events have a job on the queue, for those that are pending and were not known to have one.
 * Call it after enqueueing an event of the ledger. Until then the reconciler may enqueue it too, which
 * does no harm.
 *
 * @throws `database_unavailable`
 */
export async function markEnqueued(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<void> {
  if (keys.length === 0) return;
  const query = { name: "millrace_mark_enqueued", text: MARK_ENQUEUED, values: packKeys(keys) };
  await runStatement(ledger.pool, query, ledger.short);
}

/**
 * Notes that pending events have lost their jobs. A row that another transaction holds is skipped: a
 * worker is running its job. Returns one row for each event that was changed.
 */
const UNMARK_ENQUEUED = `
WITH marked AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status = 'pending' AND e.enqueued_at IS NOT NULL
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
)
UPDATE millrace.events e SET enqueued_at = NULL
FROM marked m
WHERE e.source = m.source AND e.event_id = m.event_id AND e.generation = m.generation`;

/**
 * Notes that pending events no longer have a job, so that the reconciler treats them like those that
 * never had one.
 *
 * @throws `database_unavailable`
 */
export async function unmarkEnqueued(
  ledger: LedgerContext,
  keys: readonly EventKey[],
): Promise<void> {
  if (keys.length === 0) return;
  const query = { name: "millrace_unmark_enqueued", text: UNMARK_ENQUEUED, values: packKeys(keys) };
  await runStatement(ledger.pool, query, ledger.short);
}

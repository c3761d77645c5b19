import type { AttemptFailure, EventKey } from "@millrace/core";
import { cutText } from "./cut-text.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatement } from "./transaction.ts";

/**
 * Records a failed attempt while it is still the event's latest; returns one row if it was. An attempt
 * is logged once, and only the call that logs it changes the event. So a caller that lost the answer to
 * a COMMIT may ask again: it does not give an attempt back twice, and does not take the failure that it
 * recorded itself for another worker's. A job that was lost may be gone with its queue, so the reconciler is
 * to look for it.
 */
const FAIL = `
WITH mine AS (
  SELECT source, event_id, generation, attempts, started_at, status, failed_run
  FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND generation = $3 AND attempts = $4
  FOR UPDATE
),
logged AS (
  INSERT INTO millrace.attempts (
    source, event_id, generation, attempt, started_at, code, message, counted
  )
  SELECT source, event_id, generation, attempts, started_at, $7, $8, $6::bool
  FROM mine WHERE status = 'pending'
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation
),
failed AS (
  UPDATE millrace.events e
  SET status = CASE WHEN $5::bool THEN 'failed' ELSE 'pending' END,
    attempts_at_retry = CASE
      WHEN $6::bool THEN e.attempts_at_retry ELSE least(e.attempts_at_retry + 1, e.attempts) END,
    processed_at = CASE WHEN $5::bool THEN clock_timestamp() END,
    last_error_code = $7,
    last_error = $8,
    failed_run = CASE WHEN $5::bool THEN $9::text END,
    enqueued_at = CASE WHEN $7 = 'lost_claim' THEN NULL ELSE e.enqueued_at END
  FROM logged
  WHERE e.source = logged.source AND e.event_id = logged.event_id
    AND e.generation = logged.generation
)
SELECT true AS recorded FROM mine
WHERE EXISTS (SELECT FROM logged)
  OR (status = 'pending' AND NOT $5::bool)
  OR (status = 'failed' AND $5::bool AND failed_run = $9::text)`;

/**
 * Records a failed attempt and its error in its own transaction. `lost` when the event is not pending
 * or has been claimed since; then nothing is written. Calling it again after a lost answer changes
 * nothing and returns the same.
 *
 * @throws `database_unavailable`
 */
export async function fail(
  ledger: LedgerContext,
  key: EventKey,
  attempt: number,
  failure: AttemptFailure,
): Promise<"recorded" | "lost"> {
  const { final, counts, code, message, run } = failure;
  const { source, eventId, generation } = key;
  const values = [source, eventId, generation, attempt, final, counts, code, cutText(message), run];
  const query = { name: "millrace_fail", text: FAIL, values };
  const { rows } = await runStatement(ledger.pool, query, ledger.prepared);
  return rows.length > 0 ? "recorded" : "lost";
}

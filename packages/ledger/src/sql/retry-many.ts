import { BODY_KEPT } from "./body-kept.ts";

/**
 * Makes failed events pending again, all in one commit; one row an event that the ledger has, with
 * what it was. Only rows that are failed are locked, so that no handler is waited for, and one that
 * another retry makes pending meanwhile is left to it; `again` is one that changed behind the
 * statement's snapshot, by such a retry or because its body was moved. With $4 (a dry run) nothing is locked or written.
 */
export const RETRY_MANY = `
WITH wanted AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
),
target AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation
  FROM wanted JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status = 'failed' AND NOT $4::bool AND ${BODY_KEPT("e")}
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e
),
retried AS (
  UPDATE millrace.events e
  SET status = 'pending', attempts_at_retry = e.attempts, pending_since = now(),
    processed_at = NULL, failed_run = NULL, enqueued_at = NULL
  FROM target t
  WHERE e.source = t.source AND e.event_id = t.event_id AND e.generation = t.generation
  RETURNING e.source, e.event_id, e.generation
)
SELECT e.source, e.event_id, e.generation, e.type, e.body_hash, e.unsigned, e.received_at,
  CASE
    WHEN r.source IS NOT NULL THEN 'retried'
    WHEN NOT ${BODY_KEPT("e")} THEN 'body_missing'
    WHEN e.status <> 'failed' THEN e.status
    WHEN $4::bool THEN 'retried'
    ELSE 'again'
  END AS kind
FROM wanted JOIN millrace.events e USING (source, event_id, generation)
LEFT JOIN retried r USING (source, event_id, generation)`;

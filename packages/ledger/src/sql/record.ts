import { INCOMING, INSERT_FRESH } from "./incoming.ts";

const IS_EXPIRED = "to_timestamp(received_at_ms / 1000) < now() - make_interval(days => $13::int)";

/**
 * Records jobs, one row a job: a new event is inserted with its first attempt, a pending one has an
 * attempt counted, and so has a failed one, which is pending again, unless it failed in this very
 * run ($12). A row that another transaction holds is skipped (`busy`), so that a handler holds up
 * its own event alone. `again` is a row that came in during the statement, behind its snapshot. A new
 * event that was accepted more than $13 days ago is left out: it may have been forgotten since. A
 * known one that came with another body keeps the first, and the other is written down.
 */
export const RECORD = `
WITH ${INCOMING},
run AS (
  SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $12::text[])
    AS r (source, event_id, generation, run)
),
held AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation, e.status, e.last_error, e.last_error_code,
    e.body_hash, e.failed_run = run.run AS same_run
  FROM run JOIN millrace.events e USING (source, event_id, generation)
  ORDER BY e.source, e.event_id, e.generation
  FOR UPDATE OF e SKIP LOCKED
),
counted AS (
  UPDATE millrace.events e SET
    status = 'pending',
    attempts = e.attempts + 1,
    attempts_at_retry = CASE held.status WHEN 'failed' THEN e.attempts ELSE e.attempts_at_retry END,
    enqueued_at = coalesce(e.enqueued_at, now()),
    pending_since = CASE held.status WHEN 'failed' THEN now() ELSE e.pending_since END,
    started_at = clock_timestamp(),
    processed_at = NULL,
    failed_run = NULL
  FROM held
  WHERE e.source = held.source AND e.event_id = held.event_id AND e.generation = held.generation
    AND (held.status = 'pending' OR (held.status = 'failed' AND held.same_run IS NOT TRUE))
  RETURNING e.source, e.event_id, e.generation, e.attempts,
    e.attempts - e.attempts_at_retry AS since_retry
), ${INSERT_FRESH({ where: `NOT ${IS_EXPIRED}` })}
SELECT i.source, i.event_id, i.generation,
  CASE
    WHEN counted.attempts IS NOT NULL OR fresh.body_id IS NOT NULL THEN 'claimed'
    WHEN held.status = 'completed' THEN 'completed'
    WHEN held.status = 'failed' THEN 'failed'
    WHEN i.known THEN 'busy'
    WHEN ${IS_EXPIRED} THEN 'identity_expired'
    WHEN i.body_from IS NULL THEN 'body_missing'
    ELSE 'again'
  END AS kind,
  coalesce(counted.attempts, 1) AS attempt,
  coalesce(counted.since_retry, 1) AS attempt_since_retry,
  held.last_error, held.last_error_code,
  CASE WHEN held.body_hash <> i.body_hash THEN
    millrace.note_conflict(i.source, i.event_id, i.body_hash, i.body_from IS NOT NULL)
  END AS conflict
FROM incoming i
LEFT JOIN held USING (source, event_id, generation)
LEFT JOIN counted USING (source, event_id, generation)
LEFT JOIN fresh USING (source, event_id, generation)`;

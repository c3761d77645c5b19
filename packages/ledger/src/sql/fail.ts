/**
 * Records a failed attempt, while it is still the event's latest; one row when it was. An attempt is
 * written to the log once, and only what writes it there changes the event: whoever lost the answer
 * to a COMMIT may ask again, and neither gives an attempt back twice nor takes the failure that it
 * recorded itself for another's.
 */
export const FAIL = `
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
    failed_run = CASE WHEN $5::bool THEN $9::text END
  FROM logged
  WHERE e.source = logged.source AND e.event_id = logged.event_id
    AND e.generation = logged.generation
)
SELECT true AS recorded FROM mine
WHERE EXISTS (SELECT FROM logged)
  OR (status = 'pending' AND NOT $5::bool)
  OR (status = 'failed' AND $5::bool AND failed_run = $9::text)`;

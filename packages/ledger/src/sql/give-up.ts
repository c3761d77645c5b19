/** Fails a pending event that no attempt is going to settle; tells what it was before. */
export const GIVE_UP = `
WITH target AS (
  SELECT source, event_id, generation, status, attempts, started_at FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND generation = $3
  FOR UPDATE
),
failed AS (
  UPDATE millrace.events e
  SET status = 'failed', processed_at = clock_timestamp(),
    last_error_code = $4, last_error = $5, failed_run = $6
  FROM target
  WHERE target.status = 'pending'
    AND e.source = target.source AND e.event_id = target.event_id
    AND e.generation = target.generation
),
logged AS (
  INSERT INTO millrace.attempts (
    source, event_id, generation, attempt, started_at, code, message, counted
  )
  SELECT source, event_id, generation, attempts, started_at, $4, $5, true
  FROM target WHERE status = 'pending'
  ON CONFLICT DO NOTHING
)
SELECT status FROM target`;

/** Whether an event that was accepted then ($1, milliseconds) may have been forgotten since ($2, days). */
export const IS_EXPIRED =
  "SELECT to_timestamp($1::float8 / 1000) < now() - make_interval(days => $2::int) AS expired";

/** Makes a failed event pending again; its attempts are counted anew from here. */
export const RETRY = `
WITH target AS (
  SELECT source, event_id, generation, status FROM millrace.events
  WHERE source = $1 AND event_id = $2 AND generation = $3
  FOR UPDATE
),
retried AS (
  UPDATE millrace.events e
  SET status = 'pending', attempts_at_retry = e.attempts, pending_since = now(),
    processed_at = NULL, failed_run = NULL, enqueued_at = NULL
  FROM target
  WHERE target.status = 'failed'
    AND e.source = target.source AND e.event_id = target.event_id
    AND e.generation = target.generation
)
SELECT status FROM target`;

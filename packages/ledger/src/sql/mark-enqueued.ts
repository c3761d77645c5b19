/**
 * Notes that jobs of pending events are on the queue. A row that another transaction holds is left as
 * it is: a worker has its job, and its record notes that too.
 */
export const MARK_ENQUEUED = `
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

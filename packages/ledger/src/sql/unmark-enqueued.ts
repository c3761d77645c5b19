/**
 * Notes that pending events have lost their jobs. A row that another transaction holds is left as it is:
 * a worker runs its job. One row an event that was changed.
 */
export const UNMARK_ENQUEUED = `
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

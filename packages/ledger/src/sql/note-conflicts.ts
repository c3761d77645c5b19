/** Counts deliveries ($4) of known events with bodies that were not the first. */
export const NOTE_CONFLICTS = `
INSERT INTO millrace.conflicts AS c (source, event_id, body_hash, deliveries)
SELECT source, event_id, body_hash, deliveries
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[])
  AS n (source, event_id, body_hash, deliveries)
ORDER BY source, event_id, body_hash
ON CONFLICT (source, event_id, body_hash) DO UPDATE
SET deliveries = c.deliveries + excluded.deliveries, last_seen_at = clock_timestamp()`;

/** What the reconciler reads of an event `e`. */
export const STANDING_COLUMNS = `
  e.source, e.event_id, e.generation, e.type, e.body_hash, e.unsigned, e.received_at,
  e.status, e.pending_since, e.enqueued_at IS NOT NULL AS placed,
  extract(epoch FROM now() - e.pending_since)::float8 * 1000 AS pending_for_ms`;

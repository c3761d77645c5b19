import { INCOMING, INSERT_FRESH } from "./incoming.ts";

/**
 * Records events as pending, and says what is known of the others; a delivery of a known event with
 * another body is written down. Status is null for what is new. The known rows are looked up one by one (LIMIT 1), because a join may
 * be answered from a hash of the whole table. A row that came in behind the statement's snapshot is
 * left out of the answer.
 */
export const ACCEPT = `
WITH ${INCOMING}, ${INSERT_FRESH()},
seen AS MATERIALIZED (
  SELECT i.source, i.event_id, i.generation, i.body_hash, e.status,
    e.body_hash <> i.body_hash AS differs
  FROM incoming i
  CROSS JOIN LATERAL (
    SELECT status, body_hash FROM millrace.events e
    WHERE e.source = i.source AND e.event_id = i.event_id AND e.generation = i.generation
    LIMIT 1
  ) AS e
  WHERE i.known
)
SELECT source, event_id, generation, NULL AS status, NULL::boolean AS conflict FROM fresh
UNION ALL
SELECT source, event_id, generation, status,
  CASE WHEN differs THEN millrace.note_conflict(source, event_id, body_hash, true) END
FROM seen`;

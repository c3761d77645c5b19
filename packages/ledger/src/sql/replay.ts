import { BODY_KEPT } from "./body-kept.ts";

/**
 * Makes events pending as a further generation, all in one commit, with the body of the latest one;
 * one row an event that the ledger has. No older row is touched. A body of another day is copied to
 * today's, because that day's may be dropped while the event still runs. The primary key lets one of two
 * replays at once through; the other one is told to look again. With $4 (a dry run) nothing is written.
 */
export const REPLAY = `
WITH latest AS MATERIALIZED (
  SELECT w.generation AS wanted, e.*, ${BODY_KEPT("e")} AS body_kept
  FROM unnest($1::text[], $2::text[], $3::int[]) AS w (source, event_id, generation)
  CROSS JOIN LATERAL (
    SELECT l.* FROM millrace.events l
    WHERE l.source = w.source AND l.event_id = w.event_id
    ORDER BY l.generation DESC LIMIT 1
  ) e
),
fresh AS (
  INSERT INTO millrace.events (
    source, event_id, generation, type, body_hash, unsigned, received_at, body_id
  )
  SELECT source, event_id, generation + 1, type, body_hash, unsigned, received_at, body_id
  FROM latest
  WHERE NOT $4::bool AND status <> 'pending' AND body_kept
    AND coalesce(wanted, generation) = generation
  ORDER BY source, event_id, generation
  ON CONFLICT DO NOTHING
  RETURNING source, event_id, generation, body_day, body_id
),
copied AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT f.body_day, b.id, b.headers, b.body
  FROM fresh f JOIN latest l ON l.source = f.source AND l.event_id = f.event_id
    AND l.generation = f.generation - 1 AND l.body_day <> f.body_day
  JOIN millrace.bodies b ON b.day = l.body_day AND b.id = l.body_id
  ON CONFLICT DO NOTHING
)
SELECT l.wanted, l.source, l.event_id, l.generation + 1 AS generation, l.type, l.body_hash,
  l.unsigned, l.received_at,
  CASE
    WHEN l.wanted > l.generation THEN 'not_found'
    WHEN l.wanted < l.generation THEN 'superseded'
    WHEN f.source IS NOT NULL THEN 'replayed'
    WHEN l.status = 'pending' THEN 'not_settled'
    WHEN NOT l.body_kept THEN 'body_missing'
    WHEN $4::bool THEN 'replayed'
    ELSE 'again'
  END AS kind
FROM latest l
LEFT JOIN fresh f ON f.source = l.source AND f.event_id = l.event_id
  AND f.generation = l.generation + 1`;

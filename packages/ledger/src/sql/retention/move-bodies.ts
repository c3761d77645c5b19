import { UNSETTLED } from "./events-of-day.ts";

/**
 * Copies bodies of events that are not completed from a day's partition to today's, and points the
 * events there, in one commit; the partition keeps what it has until it is dropped. Whoever reads
 * meanwhile finds the body in the one or the other. An event that an attempt holds is left for the
 * next time. No more than about $3 bytes go at once, and at least one body.
 */
export const MOVE_BODIES = (partition: string) => `
WITH candidate AS (${UNSETTLED(partition)}
),
locked AS MATERIALIZED (
  SELECT e.source, e.event_id, e.generation, e.body_id
  FROM candidate JOIN millrace.events e USING (source, event_id, generation)
  WHERE e.status <> 'completed' AND e.body_day = $1::date
  ORDER BY e.source, e.event_id, e.generation
  LIMIT $2
  FOR UPDATE OF e SKIP LOCKED
),
sized AS (
  SELECT l.*, octet_length(b.body) AS bytes,
    sum(octet_length(b.body)) OVER (ORDER BY l.source, l.event_id, l.generation) AS total
  FROM locked l JOIN millrace.${partition} b ON b.day = $1::date AND b.id = l.body_id
),
chosen AS MATERIALIZED (SELECT * FROM sized WHERE total - bytes < $3::bigint),
copied AS (
  INSERT INTO millrace.bodies (day, id, headers, body)
  SELECT (now() AT TIME ZONE 'UTC')::date, b.id, b.headers, b.body
  FROM millrace.${partition} b
  WHERE b.day = $1::date AND b.id IN (SELECT body_id FROM chosen)
  ON CONFLICT DO NOTHING
),
moved AS (
  UPDATE millrace.events e SET body_day = (now() AT TIME ZONE 'UTC')::date
  FROM chosen c
  WHERE e.source = c.source AND e.event_id = c.event_id AND e.generation = c.generation
  RETURNING c.bytes
)
SELECT (SELECT count(*) FROM candidate) AS found, count(*) AS moved,
  coalesce(sum(bytes), 0)::float8 AS bytes
FROM moved`;

/** How many events would be moved. */
export const COUNT_UNSETTLED = (partition: string) =>
  `SELECT count(*) AS count FROM (${UNSETTLED(partition)}) AS unsettled`;

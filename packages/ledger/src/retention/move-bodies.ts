import { failpoint } from "@millrace/core";
import type pg from "pg";
import { withPartitions } from "../schema/bodies.ts";
import { runStatement } from "../connection/transaction.ts";
import { BATCH, OF_DAY, tableOf, type BodyPartition } from "./body-partitions.ts";

const EVENTS_MAX = 500;
const BYTES_MAX = 8 * 1024 * 1024;

/** Unsettled events with a body in the partition, at most $2 of each kind. */
const UNSETTLED = (partition: string) => {
  const select = (where: string) => `
  (SELECT source, event_id, generation FROM millrace.events e
    WHERE ${where} AND (
      SELECT true FROM millrace.${partition} b WHERE b.day = $1::date AND b.id = e.body_id LIMIT 1
    ) IS TRUE
    LIMIT $2)`;
  return [
    select("status = 'pending' AND body_day = $1::date"),
    select(`status = 'failed' AND ${OF_DAY.recordedThen}`),
    select(`status = 'failed' AND ${OF_DAY.movedThere}`),
  ].join("\n  UNION ALL");
};

/** Copies stay until the drop, so a reader finds the body. About $3 bytes, at least one body. */
const MOVE_BODIES = (partition: string) => `
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
SELECT (SELECT count(*)::int FROM candidate) AS found, count(*)::int AS moved,
  coalesce(sum(bytes), 0)::float8 AS bytes
FROM moved`;

/** Moves found bodies to today's partition, but for those that attempts hold. */
export async function moveBodies(pool: pg.Pool, partition: BodyPartition) {
  const values = [partition.day, EVENTS_MAX, BYTES_MAX];
  const { rows } = await withPartitions(pool, () =>
    runStatement<{ found: number; moved: number; bytes: number }>(
      pool,
      { text: MOVE_BODIES(tableOf(partition)), values },
      BATCH,
    ),
  );
  failpoint("retention.moved");
  return rows[0] ?? { found: 0, moved: 0, bytes: 0 };
}

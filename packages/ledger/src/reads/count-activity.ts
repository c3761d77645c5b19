import type pg from "pg";
import { COUNT } from "../retention/body-partitions.ts";
import { transaction } from "../connection/transaction.ts";

const SLICE_MINUTES = 30;
/** Minutes that are counted again, for what was committed after they had been counted. */
const AGAIN_MINUTES = 3;
/** Time for which minutes and hours are kept: a little longer than the charts show. */
const KEPT = { minutes: "25 hours", hours: "31 days" };

// The first time, the events of as many days are counted as hours are kept.
const BEGIN = `
INSERT INTO millrace.activity_progress (counted_until)
SELECT date_bin('1 hour', greatest(coalesce(min(recorded_at), now()), now() - interval '${KEPT.hours}'), 'epoch')
FROM millrace.events
ON CONFLICT DO NOTHING`;

/** The next slice, up to the first event behind it. The lock keeps other workers off it. */
const NEXT = `
SELECT since, until, until >= ends AS "isLast"
FROM (
  SELECT counted_until - interval '${AGAIN_MINUTES} minutes' AS since,
    date_bin('1 minute', clock_timestamp(), 'epoch') + interval '1 minute' AS ends
  FROM millrace.activity_progress FOR UPDATE
) AS progress,
LATERAL (SELECT since + interval '${SLICE_MINUTES} minutes' AS full_at) AS slice,
LATERAL (
  SELECT least(ends, date_bin('1 minute', least(
    (SELECT min(recorded_at) FROM millrace.events WHERE recorded_at >= full_at),
    (SELECT min(processed_at) FROM millrace.events WHERE processed_at >= full_at)
  ), 'epoch')) AS until
) AS next`;

const DELETE_MINUTES = `
DELETE FROM millrace.activity WHERE seconds = 60 AND at >= $1 AND at < $2`;

const COUNT_MINUTES = `
INSERT INTO millrace.activity (seconds, at, source, type, kind, waited, took, events)
SELECT 60, date_bin('1 minute', recorded_at, 'epoch'), source, type, 'recorded', false, 0, count(*)
FROM millrace.events WHERE recorded_at >= $1 AND recorded_at < $2
GROUP BY 2, 3, 4
UNION ALL
SELECT 60, date_bin('1 minute', processed_at, 'epoch'), source, type, status,
  attempts_at_retry > 0 OR generation > 0,
  least(64, ceil(2 / ln(2::float8) * ln(greatest(1, took_ms)))),
  count(*)
FROM millrace.events CROSS JOIN LATERAL (
  SELECT 1000 * extract(epoch FROM processed_at - least(recorded_at, started_at))::float8 AS took_ms
) AS run
WHERE processed_at >= $1 AND processed_at < $2
GROUP BY 2, 3, 4, 5, 6, 7`;

const DELETE_HOURS = `
DELETE FROM millrace.activity
WHERE seconds = 3600 AND at >= date_bin('1 hour', $1::timestamptz, 'epoch') AND at < $2`;

const COUNT_HOURS = `
INSERT INTO millrace.activity (seconds, at, source, type, kind, waited, took, events)
SELECT 3600, date_bin('1 hour', at, 'epoch'), source, type, kind, waited, took, sum(events)
FROM millrace.activity
WHERE seconds = 60 AND at >= date_bin('1 hour', $1::timestamptz, 'epoch')
  AND at < date_bin('1 hour', $2::timestamptz - interval '1 minute', 'epoch') + interval '1 hour'
GROUP BY 2, 3, 4, 5, 6, 7`;

const MOVE_ON = `UPDATE millrace.activity_progress SET counted_until = $1`;

// Minutes stay until the hour that they belong to is over.
const DELETE_OLD = `
DELETE FROM millrace.activity
WHERE (seconds = 60 AND at < least(now() - interval '${KEPT.minutes}', date_bin('1 hour', $1::timestamptz, 'epoch') - interval '1 hour'))
  OR (seconds = 3600 AND at < now() - interval '${KEPT.hours}')`;

const DELETE_OLD_REFUSALS = `
DELETE FROM millrace.refusals WHERE at < now() - interval '${KEPT.minutes}'`;

export async function countActivity(pool: pg.Pool, signal?: AbortSignal): Promise<void> {
  while (signal?.aborted !== true && !(await transaction(pool, countSlice, COUNT)));
}

async function countSlice(client: pg.PoolClient): Promise<boolean> {
  await client.query(BEGIN);
  const { rows } = await client.query<{ since: Date; until: Date; isLast: boolean }>(NEXT);
  const [slice] = rows;
  if (slice === undefined) return true;
  const { since, until, isLast } = slice;
  for (const text of [DELETE_MINUTES, COUNT_MINUTES, DELETE_HOURS, COUNT_HOURS]) {
    await client.query(text, [since, until]);
  }
  await client.query(MOVE_ON, [until]);
  await client.query(DELETE_OLD, [until]);
  await client.query(DELETE_OLD_REFUSALS);
  return isLast;
}

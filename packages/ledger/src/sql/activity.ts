/**
 * The last 60 minutes, a row a minute, by the database's clock; $1 is a source, or null for all. Both
 * halves read an index from an hour ago on. Latency is from the record to the end, in milliseconds.
 */
export const ACTIVITY = `
WITH minutes AS (
  SELECT generate_series(
    date_bin('1 minute', now(), 'epoch') - interval '59 minutes',
    date_bin('1 minute', now(), 'epoch'),
    interval '1 minute'
  ) AS at
),
recorded AS (
  SELECT date_bin('1 minute', recorded_at, 'epoch') AS at, count(*)::int AS recorded
  FROM millrace.events
  WHERE recorded_at >= date_bin('1 minute', now(), 'epoch') - interval '59 minutes'
    AND ($1::text IS NULL OR source = $1)
  GROUP BY 1
),
settled AS (
  SELECT date_bin('1 minute', processed_at, 'epoch') AS at,
    count(*) FILTER (WHERE status = 'completed')::int AS completed,
    count(*) FILTER (WHERE status = 'failed')::int AS failed,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
      ORDER BY extract(epoch FROM processed_at - recorded_at)::float8 * 1000
    ) AS latency
  FROM millrace.events
  WHERE processed_at >= date_bin('1 minute', now(), 'epoch') - interval '59 minutes'
    AND ($1::text IS NULL OR source = $1)
  GROUP BY 1
)
SELECT at, coalesce(recorded, 0) AS recorded, coalesce(completed, 0) AS completed,
  coalesce(failed, 0) AS failed, latency[1] AS p50_ms, latency[2] AS p95_ms
FROM minutes LEFT JOIN recorded USING (at) LEFT JOIN settled USING (at)
ORDER BY at`;

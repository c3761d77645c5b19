import type { ActivityBucket } from "@millrace/api-contract";
import { isStorable, MillraceError } from "@millrace/core";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatement } from "./transaction.ts";

/** Which minutes, and of what. */
export interface ActivityQuery {
  /** Of all sources without it. */
  readonly source?: string | undefined;
  /** How many minutes. */
  readonly minutes: number;
  /** The minute after the last one, as `at` of a row has it; up to the one that is not over without. */
  readonly before?: string | undefined;
}

/**
 * Some minutes, a row each, by the database's clock: $2 of them, before the time $3, or up to the minute
 * that is not over where that is null. $1 is a source, or null for all. Both halves read that stretch of
 * an index alone. Latency is from the record to the end, in milliseconds; an event that was recorded when it
 * had completed counts from its attempt.
 */
const ACTIVITY = `
WITH span AS MATERIALIZED (
  SELECT until - $2::int * interval '1 minute' AS since, until
  FROM (SELECT coalesce($3::timestamptz,
    date_bin('1 minute', now(), 'epoch') + interval '1 minute')) AS given (until)
),
minutes AS (
  SELECT generate_series(since, until - interval '1 minute', interval '1 minute') AS at FROM span
),
recorded AS (
  SELECT date_bin('1 minute', recorded_at, 'epoch') AS at, count(*)::int AS recorded
  FROM millrace.events
  WHERE recorded_at >= (SELECT since FROM span) AND recorded_at < (SELECT until FROM span)
    AND ($1::text IS NULL OR source = $1)
  GROUP BY 1
),
settled AS (
  SELECT date_bin('1 minute', processed_at, 'epoch') AS at,
    count(*) FILTER (WHERE status = 'completed')::int AS completed,
    count(*) FILTER (WHERE status = 'failed')::int AS failed,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
      ORDER BY extract(epoch FROM processed_at - least(recorded_at, started_at))::float8 * 1000
    ) AS latency
  FROM millrace.events
  WHERE processed_at >= (SELECT since FROM span) AND processed_at < (SELECT until FROM span)
    AND ($1::text IS NULL OR source = $1)
  GROUP BY 1
)
SELECT at, coalesce(recorded, 0) AS recorded, coalesce(completed, 0) AS completed,
  coalesce(failed, 0) AS failed, latency[1] AS p50_ms, latency[2] AS p95_ms
FROM minutes LEFT JOIN recorded USING (at) LEFT JOIN settled USING (at)
ORDER BY at`;

/**
 * Counts some minutes, oldest first. Reads every event that was recorded or ended in them, by an index,
 * without a look at the others.
 *
 * @throws `database_unavailable`
 */
export async function activity(
  ledger: LedgerContext,
  { source, minutes, before }: ActivityQuery,
): Promise<readonly ActivityBucket[]> {
  if (source !== undefined && !isStorable(source)) {
    throw new MillraceError("invalid_request", "Cannot count events: no source has such a name");
  }
  const query = { text: ACTIVITY, values: [source ?? null, minutes, before ?? null] };
  const { rows } = await runStatement<Row>(ledger.pool, query, ledger.short);
  return rows.map(({ at, p50_ms, p95_ms, ...counts }) => ({
    at: at.toISOString(),
    ...counts,
    p50_ms: inMilliseconds(p50_ms),
    p95_ms: inMilliseconds(p95_ms),
  }));
}

interface Row extends Omit<ActivityBucket, "at"> {
  readonly at: Date;
}

// To the microsecond, which is what Postgres' clock gives.
const inMilliseconds = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 1_000) / 1_000;

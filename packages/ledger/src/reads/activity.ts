import type { ActivityBucket } from "@millrace/api-contract";
import { isStorable, MillraceError } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

export interface ActivityQuery {
  readonly source?: string | undefined;
  readonly type?: string | undefined;
  readonly minutes: number;
  /** The first minute left out, as `at` of a row; undefined up to now. */
  readonly before?: string | undefined;
}

/**
 * $2 minutes before the time $3 or up to now; $1 is a source and $4 a type, or null for all.
 * Latency is from the record to the end; an event recorded as completed counts from its attempt.
 * Events that a person ran again count apart, as they would stretch the axis.
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
    AND ($1::text IS NULL OR source = $1) AND ($4::text IS NULL OR type = $4)
  GROUP BY 1
),
settled AS (
  SELECT date_bin('1 minute', processed_at, 'epoch') AS at,
    count(*) FILTER (WHERE status = 'completed')::int AS completed,
    count(*) FILTER (WHERE status = 'failed')::int AS failed,
    percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY took_ms) FILTER (WHERE NOT waited)
      AS latency,
    percentile_cont(0.95) WITHIN GROUP (ORDER BY took_ms) FILTER (WHERE waited) AS waited_p95_ms
  FROM millrace.events CROSS JOIN LATERAL (SELECT
    extract(epoch FROM processed_at - least(recorded_at, started_at))::float8 * 1000 AS took_ms,
    attempts_at_retry > 0 OR generation > 0 AS waited
  ) AS run
  WHERE processed_at >= (SELECT since FROM span) AND processed_at < (SELECT until FROM span)
    AND ($1::text IS NULL OR source = $1) AND ($4::text IS NULL OR type = $4)
  GROUP BY 1
)
SELECT at, coalesce(recorded, 0) AS recorded, coalesce(completed, 0) AS completed,
  coalesce(failed, 0) AS failed, latency[1] AS p50_ms, latency[2] AS p95_ms,
  waited_p95_ms
FROM minutes LEFT JOIN recorded USING (at) LEFT JOIN settled USING (at)
ORDER BY at`;

export async function activity(
  ledger: LedgerContext,
  { source, type, minutes, before }: ActivityQuery,
): Promise<readonly ActivityBucket[]> {
  requireStorable(source, type);
  const query = { text: ACTIVITY, values: [source ?? null, minutes, before ?? null, type ?? null] };
  const { rows } = await runStatement<Row>(ledger.pool, query, ledger.short);
  return rows.map(({ at, p50_ms, p95_ms, waited_p95_ms, ...counts }) => ({
    at: at.toISOString(),
    ...counts,
    p50_ms: inMilliseconds(p50_ms),
    p95_ms: inMilliseconds(p95_ms),
    waited_p95_ms: inMilliseconds(waited_p95_ms),
  }));
}

interface Row extends Omit<ActivityBucket, "at"> {
  readonly at: Date;
}

// To the microsecond, which is what Postgres' clock gives.
const inMilliseconds = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms * 1_000) / 1_000;

function requireStorable(...names: readonly (string | undefined)[]): void {
  if (names.every((name) => name === undefined || isStorable(name))) return;
  throw new MillraceError(
    "invalid_request",
    "Cannot count events: no source or type has such a name",
  );
}

export interface CountedActivityQuery extends Pick<ActivityQuery, "source" | "type"> {
  /** The number of buckets, up to the one that is not over. */
  readonly count: number;
  /** Seconds of a bucket: whole minutes up to a day, or whole hours. */
  readonly seconds: number;
}

export interface CountedActivity {
  readonly buckets: readonly ActivityBucket[];
  /** Until when events are counted; undefined while none are. */
  readonly countedUntil: string | undefined;
}

/** $1 buckets of $2 seconds up to now, from the counts by minute or by hour ($5). */
const COUNTED = `
WITH span AS MATERIALIZED (
  SELECT until - $1::int * width AS since, until, width
  FROM (SELECT make_interval(secs => $2) AS width) AS w,
    LATERAL (SELECT date_bin(width, now(), 'epoch') + width AS until) AS u
),
slots AS (
  SELECT generate_series(since, least(until, counted_until) - interval '1 second', width) AS at, counted_until
  FROM span CROSS JOIN millrace.activity_progress
),
counted AS (
  SELECT date_bin((SELECT width FROM span), at, 'epoch') AS at, kind, waited, took, sum(events)::float8 AS events
  FROM millrace.activity
  WHERE seconds = $5 AND at >= (SELECT since FROM span) AND at < (SELECT until FROM span)
    AND ($3::text IS NULL OR source = $3) AND ($4::text IS NULL OR type = $4)
  GROUP BY 1, 2, 3, 4
)
SELECT at, counted_until, kind, waited, took, events
FROM slots LEFT JOIN counted USING (at)
ORDER BY at, took`;

interface CountedRow {
  readonly at: Date;
  readonly counted_until: Date;
  readonly kind: "recorded" | "completed" | "failed" | null;
  readonly waited: boolean | null;
  readonly took: number | null;
  readonly events: number | null;
}

const HOUR_SECONDS = 3_600;

/** Latencies are estimates on a scale whose steps grow by 1.4. @throws `invalid_request` */
export async function countedActivity(
  ledger: LedgerContext,
  { source, type, count, seconds }: CountedActivityQuery,
): Promise<CountedActivity> {
  requireStorable(source, type);
  const unit = seconds % HOUR_SECONDS === 0 ? HOUR_SECONDS : 60;
  const values = [count, seconds, source ?? null, type ?? null, unit];
  const { rows } = await runStatement<CountedRow>(
    ledger.pool,
    { text: COUNTED, values },
    ledger.reads,
  );
  const slots = new Map<string, CountedRow[]>();
  for (const row of rows) {
    const at = row.at.toISOString();
    const slot = slots.get(at) ?? [];
    slots.set(at, slot);
    slot.push(row);
  }
  return {
    buckets: [...slots].map(([at, slot]) => bucketOf(at, slot)),
    countedUntil: rows[0]?.counted_until.toISOString(),
  };
}

function bucketOf(at: string, rows: readonly CountedRow[]): ActivityBucket {
  const sum = (kind: CountedRow["kind"]) =>
    rows.reduce((total, row) => total + (row.kind === kind ? (row.events ?? 0) : 0), 0);
  const ended = rows.filter(({ kind }) => kind === "completed" || kind === "failed");
  const direct = ended.filter(({ waited }) => waited === false);
  return {
    ...{ at, recorded: sum("recorded"), completed: sum("completed"), failed: sum("failed") },
    p50_ms: percentile(direct, 0.5),
    p95_ms: percentile(direct, 0.95),
    waited_p95_ms: percentile(
      ended.filter(({ waited }) => waited === true),
      0.95,
    ),
  };
}

/** Rows are sorted by time; interpolates within the step of the share. */
function percentile(rows: readonly CountedRow[], share: number): number | null {
  let left = share * rows.reduce((total, { events }) => total + (events ?? 0), 0);
  for (const { took, events } of rows) {
    const [step, n] = [took ?? 0, events ?? 0];
    if (left <= n) {
      const from = step === 0 ? 0 : 2 ** ((step - 1) / 2);
      return inMilliseconds(from + ((2 ** (step / 2) - from) * left) / n);
    }
    left -= n;
  }
  return null;
}

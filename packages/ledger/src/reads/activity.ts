import type { ActivityBucket, ReadQueryOf } from "@millrace/api-contract";
import { areStorable, MillraceError } from "@millrace/core";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";

export interface ActivityQuery extends Pick<ReadQueryOf<"get /activity">, "source" | "type"> {
  /** The number of buckets, up to the one that is not over. */
  readonly count: number;
  /** Seconds of a bucket: whole minutes up to a day, or whole hours. */
  readonly seconds: number;
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
export async function activity(
  ledger: LedgerContext,
  { source, type, count, seconds }: ActivityQuery,
) {
  if (!areStorable([source, type])) {
    const message = "Cannot count events: no source or type has such a name";
    throw new MillraceError("invalid_request", message);
  }
  const unit = seconds % HOUR_SECONDS === 0 ? HOUR_SECONDS : 60;
  const values = [count, seconds, source, type, unit];
  const rows = await queryRows<CountedRow>(ledger, COUNTED, values);
  const slots = new Map<string, CountedRow[]>();
  for (const row of rows) {
    const at = row.at.toISOString();
    const slot = slots.get(at) ?? [];
    slots.set(at, slot);
    slot.push(row);
  }
  return {
    buckets: [...slots].map(([at, slot]) => bucketOf(at, slot)),
    /** Until when events are counted; undefined while none are. */
    countedUntil: rows[0]?.counted_until.toISOString(),
  };
}

function bucketOf(at: string, rows: readonly CountedRow[]): ActivityBucket {
  const sum = (kind: CountedRow["kind"]) =>
    rows.reduce((total, row) => total + (row.kind === kind ? (row.events ?? 0) : 0), 0);
  const ended = rows.filter(({ kind }) => kind !== "recorded");
  const direct = ended.filter(({ waited }) => waited === false);
  const late = ended.filter(({ waited }) => waited === true);
  return {
    ...{ at, recorded: sum("recorded"), completed: sum("completed"), failed: sum("failed") },
    p50_ms: percentile(direct, 0.5),
    p95_ms: percentile(direct, 0.95),
    waited_p95_ms: percentile(late, 0.95),
  };
}

/** Rows are sorted by time; interpolates within the step of the share. */
function percentile(rows: readonly CountedRow[], share: number): number | null {
  let left = share * rows.reduce((total, { events }) => total + (events ?? 0), 0);
  for (const { took, events } of rows) {
    const [step, n] = [took ?? 0, events ?? 0];
    if (left <= n) {
      const from = step === 0 ? 0 : 2 ** ((step - 1) / 2);
      const ms = from + ((2 ** (step / 2) - from) * left) / n;
      // To the microsecond, which is what Postgres' clock gives.
      return Math.round(ms * 1_000) / 1_000;
    }
    left -= n;
  }
  return null;
}

import { SIGNATURE_REASONS, type ErrorCode } from "@millrace/core";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";

export interface Refusals {
  readonly source: string | undefined;
  readonly code: string;
  readonly deliveries: number;
}

/** Refusals of one minute, and its age in milliseconds: clocks of other machines may be wrong. */
export interface NotedRefusals extends Refusals {
  readonly agoMs: number;
}

// Sorted by key, so that two ingresses do not wait for each other's rows.
const NOTE_REFUSALS = `
INSERT INTO millrace.refusals AS r (at, source, code, deliveries)
SELECT date_bin('1 minute', clock_timestamp() - ago_ms * interval '1 ms', 'epoch'), source, code, sum(deliveries)
FROM jsonb_to_recordset($1::jsonb) AS one (ago_ms float8, source text, code text, deliveries bigint)
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
ON CONFLICT (at, source, code) DO UPDATE SET deliveries = r.deliveries + excluded.deliveries`;

export async function noteRefusals(
  ledger: LedgerContext,
  refusals: readonly NotedRefusals[],
): Promise<void> {
  const rows = refusals.map(({ agoMs, source = "", code, deliveries }) => {
    return { ago_ms: agoMs, source, code, deliveries };
  });
  await ledger.send({ text: NOTE_REFUSALS, values: [JSON.stringify(rows)] });
}

const FIND_REFUSALS = `
SELECT nullif(source, '') AS source, code, sum(deliveries)::float8 AS deliveries
FROM millrace.refusals
WHERE at >= date_bin('1 minute', now(), 'epoch') - $1 * interval '1 minute' AND code = coalesce($2, code)
GROUP BY source, code
ORDER BY deliveries DESC, source, code`;

export async function findRefusals(
  ledger: LedgerContext,
  minutes: number,
  code?: ErrorCode,
): Promise<readonly Refusals[]> {
  type Row = Refusals & { readonly source: string | null };
  const rows = await queryRows<Row>(ledger, FIND_REFUSALS, [minutes, code]);
  return rows.map((row) => ({ ...row, source: row.source ?? undefined }));
}

// `since` is the newest minute from which on a source refused $2 deliveries for reasons of $1. It
// has taken none if no event came in from then on, and none was delivered again. A backlog is
// recorded later than it came in. Counted minutes are looked up in the activity, which has a row
// for many events. All refusals since the last minute with an event are counted.
const FIND_REFUSED_SOURCES = `
WITH refused AS (
  SELECT source, code, at, deliveries, sum(deliveries) OVER (PARTITION BY source ORDER BY at DESC) AS newest
  FROM millrace.refusals WHERE source <> '' AND code = ANY ($1)
),
since AS (SELECT source, max(at) AS at FROM refused WHERE newest >= $2 GROUP BY source),
counted AS (SELECT coalesce(max(counted_until), '-infinity') - interval '5 minutes' AS until FROM millrace.activity_progress)
SELECT source, code, sum(deliveries)::float8 AS deliveries,
  (extract(epoch FROM min(since.at)) * 1000)::float8 AS "sinceMs"
FROM refused JOIN since USING (source), counted
WHERE refused.at >= least(since.at, coalesce((
    SELECT max(a.at) + interval '1 minute' FROM millrace.activity a
    WHERE a.seconds = 60 AND a.at >= now() - interval '1 day' AND a.kind = 'recorded' AND a.source = since.source
  ), '-infinity'))
  AND NOT EXISTS (SELECT FROM millrace.activity a
    WHERE a.seconds = 60 AND a.at >= since.at AND a.at < until AND a.kind = 'recorded' AND a.source = since.source)
  AND NOT EXISTS (SELECT FROM millrace.events e
    WHERE e.recorded_at >= greatest(since.at, until) AND e.received_at >= since.at AND e.source = since.source)
  AND NOT EXISTS (SELECT FROM millrace.deliveries d
    WHERE d.source = since.source AND to_timestamp((d.recent -> 0 ->> 'at')::float8 / 1000) >= since.at)
GROUP BY source, code
ORDER BY source, deliveries DESC`;

export interface RefusedSource extends Refusals {
  readonly source: string;
  /** Unix milliseconds from which on it took no delivery. */
  readonly sinceMs: number;
}

/** Sources that refused the signatures of all of their last `deliveriesMin` deliveries, and why. */
export function findRefusedSources(
  ledger: LedgerContext,
  deliveriesMin: number,
): Promise<readonly RefusedSource[]> {
  return queryRows(ledger, FIND_REFUSED_SOURCES, [SIGNATURE_REASONS, deliveriesMin]);
}

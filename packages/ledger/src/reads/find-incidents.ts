import { ALERTS_SOURCE } from "@millrace/core";
import type { BulkRun } from "@millrace/api-contract";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";
import { LINE_OF } from "../people/errors.ts";
import { SOURCES_WHERE } from "./find-events.ts";

export interface Incidents {
  /** Open errors that came, or came back, in the last minutes, and that no alert has named. */
  readonly errors: readonly OpenedError[];
  /** All of them. `errors` has those that came back, and those with the most failed attempts. */
  readonly opened: number;
  /** Alerts of one error in the last minutes. */
  readonly alerted: number;
  /** True when an alert of many errors is less than a minute old. */
  readonly gatheredLately: boolean;
  /** Ended, and not named by an alert. One that finished waits for its results ten minutes. */
  readonly runs: readonly EndedRun[];
}

interface EndedRun extends Pick<BulkRun, "id" | "verb" | "state" | "done" | "error"> {
  readonly finishedAt: string;
}

interface OpenedError {
  readonly fingerprint: string;
  readonly title: string;
  readonly isBack: boolean;
  readonly at: string;
  readonly attempts: number;
  readonly sources: readonly string[];
  /** File and line of your code that threw it; null where that is not known. */
  readonly line: string | null;
}

/** Errors of one alert: its id has a part of the fingerprint of each. */
const ERRORS_LISTED = 70;
const PART = 12;
/** Of the id of an alert of many errors. */
export const partOf = (fingerprint: string): string => fingerprint.slice(0, PART);
/** Longer than a change of the leader takes. */
const RECENT = "interval '10 minutes'";

const FIND_INCIDENTS = `
WITH alerts AS MATERIALIZED (
  SELECT event_id, recorded_at, event_id >= 'errors.' AS "isOfMany" FROM millrace.events
  WHERE source = '${ALERTS_SOURCE}' AND event_id >= 'error.' AND event_id < 'errors.opened}'
    AND recorded_at > now() - ${RECENT}
),
counts AS (
  SELECT fingerprint, min(first_seen_at) AS first_seen_at, sum(attempts)::float8 AS attempts,
    array_agg(DISTINCT source) AS sources,
    (array_agg(event_id ORDER BY last_seen_at DESC))[1] AS event_id
  FROM millrace.error_counts WHERE source <> '${ALERTS_SOURCE}' GROUP BY fingerprint
),
unnamed AS MATERIALIZED (
  SELECT e.fingerprint, e.title, e.reopened_at IS NOT NULL AS "isBack",
    coalesce(e.reopened_at, c.first_seen_at) AS at, c.attempts, c.sources, c.event_id
  FROM counts c JOIN millrace.errors e USING (fingerprint)
  WHERE e.state = 'open' AND coalesce(e.reopened_at, c.first_seen_at) > now() - ${RECENT}
    AND NOT EXISTS (
      SELECT FROM alerts WHERE recorded_at >= coalesce(e.reopened_at, c.first_seen_at) AND (
        position('|' || e.fingerprint || '|' IN alerts.event_id) > 0
        OR position('|' || left(e.fingerprint, ${PART}) || '|' IN alerts.event_id) > 0
      )
    )
),
opened AS (
  SELECT fingerprint, title, "isBack", at, attempts, sources,
    ${LINE_OF("u.fingerprint", "a.source = ANY (u.sources) AND a.event_id = u.event_id")} AS line
  FROM unnamed u ORDER BY "isBack" DESC, attempts DESC, at LIMIT ${ERRORS_LISTED}
),
runs AS (
  SELECT id::float8 AS id, verb, state, done, error, finished_at AS "finishedAt"
  FROM millrace.bulk_runs r
  WHERE finished_at > now() - 2 * ${RECENT}
    AND (state <> 'finished' OR results IS NOT NULL OR finished_at < now() - ${RECENT})
    AND NOT EXISTS (
      SELECT FROM millrace.events
      WHERE source = '${ALERTS_SOURCE}' AND event_id >= 'run.ended|' AND event_id < 'run.ended}'
        AND starts_with(event_id, 'run.ended|' || r.id || '|') AND recorded_at >= r.finished_at
    )
  ORDER BY id
)
SELECT
  (SELECT coalesce(jsonb_agg(to_jsonb(o)), '[]') FROM opened o) AS errors,
  (SELECT count(*)::int FROM unnamed) AS opened,
  (SELECT count(*)::int FROM alerts WHERE NOT "isOfMany") AS alerted,
  EXISTS (
    SELECT FROM alerts WHERE "isOfMany" AND recorded_at > now() - interval '1 minute'
  ) AS "gatheredLately",
  (SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM runs r) AS runs`;

export async function findIncidents(ledger: LedgerContext): Promise<Incidents> {
  const [found] = await queryRows<Incidents>(ledger, FIND_INCIDENTS);
  return found ?? { errors: [], opened: 0, alerted: 0, gatheredLately: false, runs: [] };
}

const FIND_SILENT = `
WITH hours AS (
  SELECT source, count(DISTINCT at) AS hours FROM millrace.activity
  WHERE seconds = 3600 AND kind = 'recorded' AND source <> '${ALERTS_SOURCE}'
    AND at >= date_trunc('hour', now()) - interval '24 hours'
    AND at < date_trunc('hour', now()) - interval '1 hour'
  GROUP BY source
)
SELECT source FROM hours, millrace.activity_progress
WHERE hours = 23 AND counted_until > now() - interval '5 minutes' AND NOT EXISTS (
  SELECT FROM millrace.activity a
  WHERE a.seconds = 60 AND a.kind = 'recorded' AND a.source = hours.source
    AND a.at > now() - interval '1 hour'
)
ORDER BY source`;

/** Sources that had events in each hour of a day and none in the last one. */
export async function findSilent(ledger: LedgerContext): Promise<readonly string[]> {
  const rows = await queryRows<{ readonly source: string }>(ledger, FIND_SILENT);
  return rows.map(({ source }) => source);
}

/** The events of a source that ended, or failed an attempt, in the last ten minutes. */
interface FailedShare {
  readonly source: string;
  readonly events: number;
  readonly failed: number;
  /** The median share of failed events in the hours of the day before, 0 to 1; null for none. */
  readonly usual: number | null;
}

// Of every source, the leading worker's counts by the minute, events since (at most 10,000,
// as thousands can end in a second), and its newest events that wait after a failed attempt.
// An event that was retried counts at each end.
const FIND_FAILED_SHARES = `
WITH counted AS (
  SELECT coalesce(max(counted_until), '-infinity') AS until FROM millrace.activity_progress
),
found AS (
  SELECT source, events, kind = 'failed' AS failed FROM millrace.activity, counted
  WHERE seconds = 60 AND kind <> 'recorded' AND at >= now() - interval '10 minutes' AND at < until
  UNION ALL
  (SELECT source, 1, status = 'failed' FROM millrace.events
    WHERE processed_at >= greatest((SELECT until FROM counted), now() - interval '10 minutes')
    ORDER BY processed_at DESC LIMIT 10000)
  UNION ALL
  SELECT waits.source, 1, true
  FROM (${SOURCES_WHERE("status = 'pending'")}) AS p CROSS JOIN LATERAL (
    SELECT source, last_error_code FROM millrace.events
    WHERE source = p.source AND status = 'pending' AND pending_since >= now() - interval '10 minutes'
    ORDER BY pending_since DESC LIMIT 2000
  ) AS waits WHERE last_error_code <> 'retry_later'
),
shares AS (
  SELECT source, sum(events)::int AS events,
    coalesce(sum(events) FILTER (WHERE failed), 0)::int AS failed
  FROM found WHERE source <> '${ALERTS_SOURCE}' GROUP BY source
),
hours AS (
  SELECT source, coalesce(sum(events) FILTER (WHERE kind = 'failed'), 0) / sum(events) AS share
  FROM millrace.activity
  WHERE seconds = 3600 AND kind <> 'recorded'
    AND at >= now() - interval '25 hours' AND at < now() - interval '70 minutes'
  GROUP BY source, at
)
SELECT source, events, failed,
  (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY share) FROM hours
    WHERE hours.source = shares.source) AS usual
FROM shares
ORDER BY failed DESC, source`;

export function findFailedShares(ledger: LedgerContext): Promise<FailedShare[]> {
  return queryRows<FailedShare>(ledger, FIND_FAILED_SHARES);
}

interface OpenWork {
  readonly runs: readonly Pick<BulkRun, "id" | "verb" | "state" | "error">[];
  readonly errors: number;
  /** Of them, those that came, or came back, in the last hour, and when the first of them did. */
  readonly newErrors: number;
  readonly newErrorsSince: Date | null;
  /** Alerts that failed, or failed an attempt and wait; the ledger counts to 100. */
  readonly failedAlerts: number;
}

const FIND_OPEN = `
SELECT
  (SELECT coalesce(jsonb_agg(to_jsonb(r) ORDER BY r.id), '[]') FROM (
    SELECT id, verb, state, error FROM millrace.bulk_runs WHERE finished_at IS NULL ORDER BY id LIMIT 10
  ) AS r) AS runs,
  (SELECT count(*)::int FROM (
    SELECT FROM millrace.errors WHERE state = 'open' LIMIT 100
  ) AS e) AS errors,
  (SELECT count(*)::int FROM (
    SELECT FROM millrace.events
    WHERE source = '${ALERTS_SOURCE}' AND status <> 'completed' AND last_error_code IS NOT NULL LIMIT 100
  ) AS a) AS "failedAlerts",
  n.errors AS "newErrors", n.since AS "newErrorsSince"
FROM (
  SELECT count(*)::int AS errors, min(came_at) AS since
  FROM millrace.errors e, LATERAL (
    SELECT coalesce(e.reopened_at, min(first_seen_at)) AS came_at
    FROM millrace.error_counts WHERE fingerprint = e.fingerprint AND source <> '${ALERTS_SOURCE}'
  ) AS came
  WHERE state = 'open' AND came_at >= now() - interval '1 hour'
) AS n`;

export async function findOpen(ledger: LedgerContext): Promise<OpenWork> {
  const [open] = await queryRows<OpenWork>(ledger, FIND_OPEN);
  return open ?? { runs: [], errors: 0, newErrors: 0, newErrorsSince: null, failedAlerts: 0 };
}

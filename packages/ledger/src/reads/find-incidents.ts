import { ALERTS_SOURCE } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";

export interface Incidents {
  /** Open errors that came, or came back, in the last minutes; `ERRORS_MAX` and one at most. */
  readonly errors: readonly OpenedError[];
  readonly runs: readonly EndedRun[];
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

interface EndedRun {
  readonly id: number;
  readonly verb: string;
  readonly state: string;
  readonly done: number;
  readonly error: string | null;
}

export const ERRORS_MAX = 10;
/** Longer than a change of the leader takes. */
const RECENT = "interval '10 minutes'";

const FIND_INCIDENTS = `
WITH counts AS (
  SELECT fingerprint, min(first_seen_at) AS first_seen_at, sum(attempts)::float8 AS attempts,
    array_agg(DISTINCT source) AS sources,
    (array_agg(event_id ORDER BY last_seen_at DESC))[1] AS event_id
  FROM millrace.error_counts WHERE source <> '${ALERTS_SOURCE}' GROUP BY fingerprint
),
opened AS (
  SELECT e.fingerprint, e.title, e.reopened_at IS NOT NULL AS "isBack",
    coalesce(e.reopened_at, c.first_seen_at) AS at, c.attempts, c.sources,
    (SELECT frame ->> 'file' || coalesce(':' || (frame ->> 'line'), '')
      FROM millrace.attempts a, jsonb_array_elements(a.stack) WITH ORDINALITY AS f (frame, n)
      WHERE a.source = ANY (c.sources) AND a.event_id = c.event_id
        AND a.fingerprint = e.fingerprint AND (frame ->> 'own')::boolean
      ORDER BY a.attempt DESC, n LIMIT 1) AS line
  FROM counts c JOIN millrace.errors e USING (fingerprint)
  WHERE e.state = 'open' AND coalesce(e.reopened_at, c.first_seen_at) > now() - ${RECENT}
  ORDER BY at LIMIT ${ERRORS_MAX + 1}
),
runs AS (
  SELECT id::float8 AS id, verb, state, done, error FROM millrace.bulk_runs
  WHERE finished_at > now() - ${RECENT} ORDER BY id
)
SELECT
  (SELECT coalesce(jsonb_agg(to_jsonb(o)), '[]') FROM opened o) AS errors,
  (SELECT coalesce(jsonb_agg(to_jsonb(r)), '[]') FROM runs r) AS runs`;

export async function findIncidents(ledger: LedgerContext): Promise<Incidents> {
  const [found] = await queryRows<Incidents>(ledger, FIND_INCIDENTS);
  return found ?? { errors: [], runs: [] };
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

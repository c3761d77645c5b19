import type { BulkRun } from "@millrace/api-contract";
import { ALERTS_SOURCE } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";

export interface OpenWork {
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

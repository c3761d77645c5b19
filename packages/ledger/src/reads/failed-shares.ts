import { ALERTS_SOURCE } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";

/** The events of a source that ended, or failed an attempt, in the last ten minutes. */
export interface FailedShare {
  readonly source: string;
  readonly events: number;
  readonly failed: number;
  /** The median share of failed events in the hours of the day before, 0 to 1; null for none. */
  readonly usual: number | null;
}

// Bounded, because thousands of events can end in a second.
const FIND_FAILED_SHARES = `
WITH newest AS (
  (SELECT source, status = 'failed' AS failed FROM millrace.events
    WHERE processed_at >= now() - interval '10 minutes'
    ORDER BY processed_at DESC LIMIT 10000)
  UNION ALL
  (SELECT source, true FROM (
    SELECT source, status, last_error_code FROM millrace.events
    WHERE recorded_at >= now() - interval '10 minutes'
    ORDER BY recorded_at DESC LIMIT 10000
  ) AS recorded WHERE status = 'pending' AND last_error_code <> 'retry_later')
),
shares AS (
  SELECT source, count(*)::int AS events, count(*) FILTER (WHERE failed)::int AS failed
  FROM newest WHERE source <> '${ALERTS_SOURCE}' GROUP BY source
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

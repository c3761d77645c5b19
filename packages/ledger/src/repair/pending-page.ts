import type { LedgerContext } from "../connection/ledger-context.ts";
import {
  LEDGER_STATUS_COLUMNS,
  toLedgerStatus,
  type LedgerStatus,
  type LedgerStatusColumns,
} from "./ledger-status.ts";
import { runStatement } from "../connection/transaction.ts";

export interface PendingCursor {
  readonly source: string;
  /** The last event of the previous page; undefined for the first page. */
  readonly after?: LedgerStatus | undefined;
  readonly limit: number;
}

export interface PendingQuery {
  readonly which: "every" | "not_enqueued";
  /** Minimum milliseconds that they have been pending. */
  readonly graceMs: number;
}

/** Of each source ($1) at most $5 after its cursor ($2 to $4). The condition decides the index. */
const PENDING_PAGE = (condition: string) => `
SELECT ${LEDGER_STATUS_COLUMNS}
FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::int[], $5::int[])
  AS s (source, pending_since, event_id, generation, page)
CROSS JOIN LATERAL (
  SELECT * FROM millrace.events p
  WHERE p.source = s.source AND p.status = 'pending' ${condition}
    AND p.pending_since < now() - make_interval(secs => $6::float8 / 1000)
    AND (p.pending_since, p.event_id, p.generation) > (s.pending_since, s.event_id, s.generation)
  ORDER BY p.pending_since, p.event_id, p.generation
  LIMIT s.page
) e`;

const PAGES = {
  every: { name: "millrace_pending_page_every", text: PENDING_PAGE("") },
  not_enqueued: {
    name: "millrace_pending_page_not_enqueued",
    text: PENDING_PAGE("AND p.enqueued_at IS NULL"),
  },
};

export async function pendingPage(
  ledger: LedgerContext,
  cursors: readonly PendingCursor[],
  { which, graceMs }: PendingQuery,
): Promise<readonly LedgerStatus[]> {
  const query = {
    ...PAGES[which],
    values: [
      cursors.map(({ source }) => source),
      cursors.map(({ after }) => after?.cursor ?? "-infinity"),
      cursors.map(({ after }) => after?.event.eventId ?? ""),
      cursors.map(({ after }) => after?.event.generation ?? -1),
      cursors.map(({ limit }) => limit),
      graceMs,
    ],
  };
  const { rows } = await runStatement<LedgerStatusColumns>(ledger.pool, query, ledger.short);
  return rows.map(toLedgerStatus);
}

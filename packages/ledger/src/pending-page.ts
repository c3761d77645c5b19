import type { LedgerContext } from "./ledger-context.ts";
import { EVERY_PENDING_PAGE, UNPLACED_PAGE } from "./sql/pending-page.ts";
import { toStanding, type Standing, type StandingRow } from "./standing.ts";
import { runStatement } from "./transaction.ts";

/** A pending event, and where it stands in the order that pages go by. */
export interface PendingEvent extends Standing {
  readonly place: string;
}

/** What is asked of one source. */
export interface PendingCursor {
  readonly source: string;
  /** The last event of the page before; the first page without. */
  readonly after?: PendingEvent | undefined;
  /** Events at the most. */
  readonly limit: number;
}

/** Which pending events: all, or those that are not known to have a job. */
export interface PendingQuery {
  readonly which: "every" | "unplaced";
  /** Milliseconds that they have been pending at least. */
  readonly graceMs: number;
}

/**
 * Reads the next pending events of several sources, of each in the order in which they became pending.
 *
 * @throws `database_unavailable`
 */
export async function pendingPage(
  ledger: LedgerContext,
  cursors: readonly PendingCursor[],
  { which, graceMs }: PendingQuery,
): Promise<readonly PendingEvent[]> {
  const query = {
    name: `millrace_pending_page_${which}`,
    text: which === "every" ? EVERY_PENDING_PAGE : UNPLACED_PAGE,
    values: [
      cursors.map(({ source }) => source),
      cursors.map(({ after }) => after?.place ?? "-infinity"),
      cursors.map(({ after }) => after?.event.eventId ?? ""),
      cursors.map(({ after }) => after?.event.generation ?? -1),
      cursors.map(({ limit }) => limit),
      graceMs,
    ],
  };
  const { rows } = await runStatement<Row>(ledger.pool, query, ledger.short);
  return rows.map((row) => ({ ...toStanding(row), place: row.place }));
}

interface Row extends StandingRow {
  readonly place: string;
}

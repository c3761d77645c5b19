import type { LedgerContext } from "./ledger-context.ts";
import { COUNT_COMPLETED, COUNT_UNDONE } from "./sql/count-events.ts";
import { runStatement } from "./transaction.ts";

/** How many events of a source are not completed. */
export interface UndoneCounts {
  readonly pending: number;
  readonly failed: number;
}

/**
 * Counts pending and failed events by source; a source without them is not there. Reads those alone.
 *
 * @throws `database_unavailable`
 */
export async function countUndone(
  ledger: LedgerContext,
): Promise<ReadonlyMap<string, UndoneCounts>> {
  const { rows } = await runStatement<{ status: keyof UndoneCounts } & CountRow>(
    ledger.pool,
    { text: COUNT_UNDONE },
    ledger.reads,
  );
  const counts = new Map<string, UndoneCounts>();
  for (const { source, status, events } of rows) {
    const of = counts.get(source) ?? { pending: 0, failed: 0 };
    counts.set(source, { ...of, [status]: events });
  }
  return counts;
}

/**
 * Counts completed events by source; a source without them is not there. Reads all of them, though not
 * their bodies: for people, not for every scrape.
 *
 * @throws `database_unavailable`
 */
export async function countCompleted(ledger: LedgerContext): Promise<ReadonlyMap<string, number>> {
  const query = { text: COUNT_COMPLETED };
  const { rows } = await runStatement<CountRow>(ledger.pool, query, ledger.reads);
  return new Map(rows.map(({ source, events }) => [source, events]));
}

interface CountRow {
  readonly source: string;
  readonly events: number;
}

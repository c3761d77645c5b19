import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

export interface UndoneCounts {
  readonly pending: number;
  readonly failed: number;
}

/** Each half fits its partial index: completed events are not read. */
const COUNT_UNDONE = `
SELECT source, 'pending' AS status, count(*)::float8 AS events
FROM millrace.events WHERE status = 'pending' GROUP BY source
UNION ALL
SELECT source, 'failed' AS status, count(*)::float8 AS events
FROM millrace.events WHERE status = 'failed' GROUP BY source`;

const COUNT_COMPLETED = `
SELECT source, count(*)::float8 AS events
FROM millrace.events WHERE status = 'completed' GROUP BY source`;

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

/** Counts completed events by source, reading all of them: for people, not for every scrape. */
export async function countCompleted(ledger: LedgerContext): Promise<ReadonlyMap<string, number>> {
  const query = { text: COUNT_COMPLETED };
  const { rows } = await runStatement<CountRow>(ledger.pool, query, ledger.reads);
  return new Map(rows.map(({ source, events }) => [source, events]));
}

interface CountRow {
  readonly source: string;
  readonly events: number;
}

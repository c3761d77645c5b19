import type pg from "pg";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";

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

type Undone = Readonly<Record<"pending" | "failed", number>>;

export async function countUndone(ledger: LedgerContext): Promise<ReadonlyMap<string, Undone>> {
  type Row = { source: string; status: keyof Undone; events: number };
  const rows = await queryRows<Row>(ledger, COUNT_UNDONE);
  const counts = new Map<string, Undone>();
  for (const { source, status, events } of rows) {
    const of = counts.get(source) ?? { pending: 0, failed: 0 };
    counts.set(source, { ...of, [status]: events });
  }
  return counts;
}

/** Counts completed events by source, reading all of them: for people, not for every scrape. */
export async function countCompleted(ledger: LedgerContext): Promise<ReadonlyMap<string, number>> {
  const rows = await queryRows<{ source: string; events: number }>(ledger, COUNT_COMPLETED);
  return new Map(rows.map(({ source, events }) => [source, events]));
}

const COUNT_CONFLICTS = `
SELECT source, count(DISTINCT event_id)::int AS count,
  (array_agg(DISTINCT event_id))[1:2] AS examples
FROM millrace.conflicts WHERE first_seen_at > now() - interval '7 days'
GROUP BY source ORDER BY source`;

interface SourceCount {
  readonly source: string;
  readonly count: number;
}

export async function countConflicts(
  ledger: LedgerContext,
): Promise<readonly (SourceCount & { readonly examples: readonly string[] })[]> {
  return await queryRows(ledger, COUNT_CONFLICTS);
}

const COUNT_REFUSED = `
SELECT source, count(*)::int AS count FROM millrace.events
WHERE refused GROUP BY source ORDER BY source`;

/** Counts copies of signed messages that no person has retried, by source. */
export async function countRefused(ledger: LedgerContext): Promise<readonly SourceCount[]> {
  return await queryRows(ledger, COUNT_REFUSED);
}

export const LATEST_EVENTS = 10_000;

// No index has the type: reads the latest rows by the index of their time.
const LATEST_TYPES = `
SELECT source, array_agg(DISTINCT type) AS types FROM (
  SELECT source, type FROM millrace.events ORDER BY recorded_at DESC LIMIT ${LATEST_EVENTS}
) latest GROUP BY source`;

export async function latestTypes(pool: pg.Pool): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<{ source: string; types: string[] }>(LATEST_TYPES);
  return new Map(rows.map(({ source, types }) => [source, types]));
}

import type { EventStatus } from "@millrace/core";
import { count } from "drizzle-orm";
import type { LedgerContext } from "./ledger-context.ts";
import { read } from "./read.ts";
import { events } from "./schema.ts";

/** How many events of a source stand in each status. */
export type StatusCounts = Readonly<Record<EventStatus, number>>;

/**
 * Counts events by source and status; a source without events is not there. Reads the whole table of
 * events, though not their bodies: for people, not for every scrape.
 *
 * @throws `database_unavailable`
 */
export async function countsBySourceAndStatus(
  ledger: LedgerContext,
): Promise<Readonly<Record<string, StatusCounts>>> {
  const counts = new Map<string, Record<EventStatus, number>>();
  for (const row of await selectCounts(ledger)) {
    const of = counts.get(row.source) ?? { pending: 0, completed: 0, failed: 0 };
    of[row.status] = row.events;
    counts.set(row.source, of);
  }
  return Object.fromEntries(counts);
}

async function selectCounts(ledger: LedgerContext) {
  return await read(ledger, (db) =>
    db
      .select({ source: events.source, status: events.status, events: count() })
      .from(events)
      .groupBy(events.source, events.status)
      .orderBy(events.source),
  );
}

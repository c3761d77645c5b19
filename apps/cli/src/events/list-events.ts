import type { EventFilter, EventRow, Ledger } from "@millrace/ledger";

/** The ledger gives no more than this a page. */
const PAGE = 500;

/** Reads up to `limit` events, newest first, a page at a time. */
export async function* listEvents(
  ledger: Pick<Ledger, "findEvents">,
  filter: Omit<EventFilter, "limit" | "cursor">,
  limit: number,
): AsyncGenerator<EventRow> {
  let left = limit;
  let cursor: string | undefined;
  while (left > 0) {
    const page = await ledger.findEvents({ ...filter, limit: Math.min(left, PAGE), cursor });
    yield* page.events;
    left -= page.events.length;
    if (page.next === null) return;
    cursor = page.next;
  }
}

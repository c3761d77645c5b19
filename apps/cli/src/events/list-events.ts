import type { EventRow } from "@millrace/api-contract";
import type { EventSearch, Ledger } from "@millrace/ledger";

type Filter = Omit<EventSearch, "limit" | "cursor">;

/** The ledger's own maximum. */
const PAGE = 500;

export async function* listEvents(
  ledger: Pick<Ledger, "reads">,
  filter: Filter,
  limit: number,
  onSearched?: (to: string) => void,
): AsyncGenerator<EventRow> {
  let left = limit;
  let cursor: string | undefined;
  while (left > 0) {
    const page = await ledger.reads.findEvents({ ...filter, limit: Math.min(left, PAGE), cursor });
    yield* page.events;
    left -= page.events.length;
    if (page.next === null) return;
    // A search in bodies goes on when it is asked to.
    if (page.searched_to !== null && left > 0) return onSearched?.(page.searched_to);
    cursor = page.next;
  }
}

import type { EventRow } from "@millrace/api-contract";
import type { EventSearch, Ledger } from "@millrace/ledger";
import { wait } from "@millrace/core";

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

const BEAT_MS = 1_000;
/** A row becomes readable a little later than its own time. */
const OVERLAP_MS = 3_000;

/** Reads the newest events, oldest first, and then each that is recorded or ends. */
export async function* followEvents(
  ledger: Pick<Ledger, "reads">,
  filter: Filter,
  { limit, signal }: { limit: number; signal: AbortSignal },
): AsyncGenerator<EventRow> {
  const changedWithin = async (ms: number) =>
    await collect(listEvents(ledger, { ...filter, changedWithinMs: Math.ceil(ms) }, Infinity));

  let askedAt = performance.now();
  // Earlier changes are not shown, unless they are among the newest.
  const before = await changedWithin(OVERLAP_MS);
  const newest = await collect(listEvents(ledger, filter, limit));
  yield* newest.toReversed();
  let known = new Set([...before, ...newest].map(stateOf));
  for (;;) {
    await wait(BEAT_MS, signal);
    if (signal.aborted) return;
    const beganAt = performance.now();
    const rows = await changedWithin(beganAt - askedAt + OVERLAP_MS);
    askedAt = beganAt;
    const told = known;
    yield* rows.toReversed().filter((row) => !told.has(stateOf(row)));
    // Older rows are not read again.
    known = new Set(rows.map(stateOf));
  }
}

const stateOf = ({ source, event_id, generation, status, processed_at }: EventRow): string =>
  JSON.stringify([source, event_id, generation, status, processed_at]);

async function collect(rows: AsyncIterable<EventRow>): Promise<EventRow[]> {
  const all: EventRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

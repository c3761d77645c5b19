import type { Ledger, PendingEvent, PendingQuery } from "@millrace/ledger";

/** Events that a round reads at the most, of all sources together. */
const ROUND_MAX = 1_000;

interface Walk extends PendingQuery {
  readonly sources: readonly string[];
  /** Asked before each round of a source but the first: whether to go on with it. */
  readonly goesOn?: (source: string) => boolean;
}

/**
 * Reads pending events, of each source those that have been pending for longest first: some of every
 * source, then some more of every source, so that none waits for another's backlog.
 */
export async function* walkPending(
  ledger: Pick<Ledger, "pendingPage">,
  { sources, goesOn = () => true, ...query }: Walk,
): AsyncGenerator<readonly PendingEvent[]> {
  let left = new Map<string, PendingEvent | undefined>(
    sources.map((source) => [source, undefined] as const),
  );
  while (left.size > 0) {
    const limit = Math.ceil(ROUND_MAX / left.size);
    const cursors = [...left].map(([source, after]) => ({ source, after, limit }));
    const page = await ledger.pendingPage(cursors, query);
    if (page.length > 0) yield page;
    left = following(page, limit, goesOn);
  }
}

/** The sources that may have more, each with the last event that was read of it. */
function following(
  page: readonly PendingEvent[],
  limit: number,
  goesOn: (source: string) => boolean,
): Map<string, PendingEvent> {
  const counts = new Map<string, number>();
  const last = new Map<string, PendingEvent>();
  for (const pending of page) {
    const { source } = pending.event;
    counts.set(source, (counts.get(source) ?? 0) + 1);
    last.set(source, pending);
  }
  return new Map([...last].filter(([source]) => counts.get(source) === limit && goesOn(source)));
}

import type { SourceStats } from "@millrace/api-contract";

export type Column = "source" | "queued" | "pending" | "completed" | "failed";

export interface Order {
  readonly column: Column;
  readonly descending: boolean;
}

export type NamedSource = readonly [name: string, of: SourceStats];

/** So many fit the panel; more are folded. */
const UNFOLDED_MAX = 8;

/**
 * Names in the order of the alphabet, numbers from the largest; the same column again turns it
 * round.
 */
export function nextOrder(last: Order, column: Column): Order {
  if (last.column === column) return { column, descending: !last.descending };
  return { column, descending: column !== "source" };
}

/**
 * True for a source that needs no attention: nothing failed, waits or is paused, and its queue
 * answers. While no queue answers, such as when Redis is away, the queue's state counts for
 * nothing.
 */
function isQuiet({ pending, failed, queued, jobs }: SourceStats, isQueueAway: boolean): boolean {
  if (pending > 0 || failed > 0) return false;
  return jobs === null ? isQueueAway : queued === 0 && !jobs.paused;
}

/**
 * The sources that a table shows, in order, and how many quiet ones it folds. A search, and few
 * sources, fold none; the source that the list shows is never folded.
 */
export function arrangeSources(
  sources: readonly NamedSource[],
  view: { search: string; order: Order; folded: boolean; shown: string | undefined },
): { readonly rows: readonly NamedSource[]; readonly quiet: number } {
  const wanted = view.search.trim().toLowerCase();
  const found = sources.filter(([name]) => name.toLowerCase().includes(wanted));
  const sorted = found.toSorted(comparing(view.order));
  if (wanted !== "" || found.length <= UNFOLDED_MAX) return { rows: sorted, quiet: 0 };
  const isQueueAway = sources.every(([, { jobs }]) => jobs === null);
  const loud = sorted.filter(([name, of]) => name === view.shown || !isQuiet(of, isQueueAway));
  const quiet = sorted.length - loud.length;
  return { rows: view.folded ? loud : sorted, quiet };
}

function comparing({ column, descending }: Order) {
  const sign = descending ? -1 : 1;
  return ([a, ofA]: NamedSource, [b, ofB]: NamedSource): number => {
    const byName = a.localeCompare(b);
    if (column === "source") return sign * byName;
    // An unknown number is below every other one.
    return sign * ((ofA[column] ?? -1) - (ofB[column] ?? -1)) || byName;
  };
}

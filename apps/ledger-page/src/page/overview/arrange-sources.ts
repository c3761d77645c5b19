import type { SourceStats } from "@millrace/api-contract";

export type SortedBy = "source" | "queued" | "pending" | "completed" | "failed";

export interface Order {
  readonly column: SortedBy;
  readonly descending: boolean;
}

export type NamedSource = readonly [name: string, of: SourceStats];

const UNFOLDED_MAX = 8;

/** Numbers begin with the largest; the same column again reverses. */
export function nextOrder(last: Order, column: SortedBy): Order {
  if (last.column === column) return { column, descending: !last.descending };
  return { column, descending: column !== "source" };
}

/** While no queue answers, as when Redis is away, the state of queues does not count. */
function isQuiet(of: SourceStats, isQueueAway: boolean): boolean {
  const { pending, failed, queued, jobs, refused } = of;
  if (pending > 0 || failed > 0 || refused.length > 0) return false;
  return jobs === null ? isQueueAway : queued === 0 && !jobs.paused;
}

/** A search and few sources fold none. */
export function arrangeSources(
  sources: readonly NamedSource[],
  view: { search: string; order: Order; folded: boolean },
): { readonly rows: readonly NamedSource[]; readonly quiet: number } {
  const wanted = view.search.trim().toLowerCase();
  const found = sources.filter(([name]) => name.toLowerCase().includes(wanted));
  const sorted = found.toSorted(comparing(view.order));
  if (wanted !== "" || found.length <= UNFOLDED_MAX) return { rows: sorted, quiet: 0 };
  const isQueueAway = sources.every(([, { jobs }]) => jobs === null);
  const loud = sorted.filter(([, of]) => !isQuiet(of, isQueueAway));
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

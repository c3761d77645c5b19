import { useLocation, useNavigate, useSearchParams } from "react-router";
import { readFilter, writeFilter, type ListFilter } from "../parts/list-filter.ts";

export type List = ReturnType<typeof useList>;
type Order = "desc" | "asc";
/** The cursors of the pages before this one; the first page has none. */
type Trail = readonly (string | null)[];

export function useList() {
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const filter = readFilter(query);
  const cursor = query.get("cursor") ?? undefined;
  const order: Order = query.get("order") === "asc" ? "asc" : "desc";
  const trail = trailOf(useLocation().state);

  const searchOf = (narrowed: ListFilter, sorted: Order, to?: string): string => {
    const search = new URLSearchParams(writeFilter(narrowed));
    if (sorted === "asc") search.set("order", sorted);
    if (to !== undefined) search.set("cursor", to);
    return search.toString();
  };
  const show = (to: string | undefined, passed: Trail) => {
    void navigate({ search: searchOf(filter, order, to) }, { state: { trail: passed } });
  };
  return {
    filter,
    cursor,
    trail,
    order,
    sortBy: (sorted: Order) => void navigate({ search: searchOf(filter, sorted) }),
    narrow: (change: Partial<Record<keyof ListFilter, string>>, replace = false) => {
      void navigate({ search: searchOf({ ...filter, ...change }, order) }, { replace });
    },
    next: (next: string) => show(next, [...trail, cursor ?? null]),
    previous: () => show(trail.at(-1) ?? undefined, trail.slice(0, -1)),
    first: () => show(undefined, []),
  };
}

function trailOf(state: unknown): Trail {
  const trail = (state as { trail?: unknown } | null)?.trail;
  return Array.isArray(trail) ? trail : [];
}

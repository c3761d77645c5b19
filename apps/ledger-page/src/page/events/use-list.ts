import { useLocation, useNavigate, useSearchParams } from "react-router";
import { readFilter, writeFilter, type ListFilter } from "../parts/list-filter.ts";

export interface List {
  readonly filter: ListFilter;
  /** Undefined on the first page. */
  readonly cursor: string | undefined;
  /** The cursors of the pages before this one; the first page has none. */
  readonly trail: readonly (string | null)[];
  readonly order: "desc" | "asc";
  sortBy(order: List["order"]): void;
  /** `replace` replaces the entry in the browser's history. */
  narrow(change: Partial<Record<keyof ListFilter, string>>, replace?: boolean): void;
  next(cursor: string): void;
  previous(): void;
  first(): void;
}

export function useList(): List {
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const filter = readFilter(query);
  const cursor = query.get("cursor") ?? undefined;
  const order = query.get("order") === "asc" ? "asc" : "desc";
  const trail = trailOf(useLocation().state);

  const searchOf = (narrowed: ListFilter, sorted: List["order"], to?: string): string => {
    const search = new URLSearchParams(writeFilter(narrowed));
    if (sorted === "asc") search.set("order", sorted);
    if (to !== undefined) search.set("cursor", to);
    return search.toString();
  };
  const show = (to: string | undefined, passed: List["trail"]) => {
    void navigate({ search: searchOf(filter, order, to) }, { state: { trail: passed } });
  };
  return {
    filter,
    cursor,
    trail,
    order,
    sortBy: (sorted) => void navigate({ search: searchOf(filter, sorted) }),
    narrow: (change, replace = false) => {
      void navigate({ search: searchOf({ ...filter, ...change }, order) }, { replace });
    },
    next: (next) => show(next, [...trail, cursor ?? null]),
    previous: () => show(trail.at(-1) ?? undefined, trail.slice(0, -1)),
    first: () => show(undefined, []),
  };
}

function trailOf(state: unknown): readonly (string | null)[] {
  const trail = (state as { trail?: unknown } | null)?.trail;
  return Array.isArray(trail) ? trail : [];
}

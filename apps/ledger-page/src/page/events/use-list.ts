import { useLocation, useNavigate, useSearchParams } from "react-router";
import { readFilter, writeFilter, type ListFilter } from "./list-filter.ts";

/** The list that the URL names: its filter, and where its page begins. */
export interface List {
  readonly filter: ListFilter;
  /** Undefined on the first page, the newest. */
  readonly cursor: string | undefined;
  /** The pages that were left behind on the way to this one, the first of them undefined. */
  readonly trail: readonly (string | null)[];
  /** Shows the first page of another filter; `replace` takes the place of this one in the history. */
  narrow(change: Partial<Record<keyof ListFilter, string>>, replace?: boolean): void;
  older(cursor: string): void;
  newer(): void;
  newest(): void;
}

/** Reads the list from the URL, and writes it there. */
export function useList(): List {
  const [query] = useSearchParams();
  const navigate = useNavigate();
  const filter = readFilter(query);
  const cursor = query.get("cursor") ?? undefined;
  const trail = trailOf(useLocation().state);

  const show = (to: string | undefined, passed: List["trail"]) => {
    const search = new URLSearchParams(writeFilter(filter));
    if (to !== undefined) search.set("cursor", to);
    void navigate({ search: search.toString() }, { state: { trail: passed } });
  };
  return {
    filter,
    cursor,
    trail,
    narrow: (change, replace = false) => {
      void navigate({ search: writeFilter({ ...filter, ...change }) }, { replace });
    },
    older: (next) => show(next, [...trail, cursor ?? null]),
    newer: () => show(trail.at(-1) ?? undefined, trail.slice(0, -1)),
    newest: () => show(undefined, []),
  };
}

function trailOf(state: unknown): readonly (string | null)[] {
  const trail = (state as { trail?: unknown } | null)?.trail;
  return Array.isArray(trail) ? trail : [];
}

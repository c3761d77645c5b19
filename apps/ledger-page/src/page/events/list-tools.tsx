import type { BulkVerb } from "@millrace/api-contract";
import { X } from "lucide-react";
import { useState } from "react";
import { useLocation, useNavigate, useSearchParams } from "react-router";
import { STATUSES } from "../parts/badge.tsx";
import { Filters, SelectField, SourceFilter, TextFilter } from "../parts/filters.tsx";
import { countOf, formatCount } from "../parts/format.ts";
import {
  isFiltered,
  readFilter,
  SPANS,
  termsOf,
  writeFilter,
  type ListFilter,
} from "../parts/list-filter.ts";
import { BulkDialog, ErrorTitle } from "../runs/bulk-dialog.tsx";
import { useMayWrite } from "../session/session.ts";

interface Props {
  readonly list: List;
  readonly live: boolean;
  readonly setLive: (live: boolean) => void;
  /** The rows are of the search before. */
  readonly searching: boolean;
  readonly shown: number | undefined;
  readonly total: { readonly count: number; readonly more: boolean } | undefined;
  readonly waiting: number;
  readonly letIn: () => void;
}

export function ListTools(props: Props) {
  const { list, live, setLive, searching, shown, total, waiting, letIn } = props;
  const [verb, setVerb] = useState<BulkVerb>();
  const mayWrite = useMayWrite();
  const { filter, cursor, order } = list;
  const { status } = filter;
  return (
    <div className="tools">
      <p role="status" className="quiet">
        {searching ? "Searching…" : shown !== undefined && shownOf(shown, total)}
        {!searching && cursor !== undefined && ". Further pages do not refresh automatically"}
      </p>
      <button
        aria-pressed={order === "asc"}
        onClick={() => list.sortBy(order === "asc" ? "desc" : "asc")}
      >
        Oldest first
      </button>
      {waiting > 0 && (
        <button className="primary" onClick={letIn}>
          Show {waiting} new
        </button>
      )}
      <button
        aria-pressed={live && cursor === undefined}
        disabled={cursor !== undefined}
        onClick={() => setLive(!live)}
        className="live"
      >
        <span className="dot" aria-hidden="true" />
        Live
      </button>
      {mayWrite && (
        <>
          <button disabled={status === "completed"} onClick={() => setVerb("retry")}>
            {status === "pending" ? "Run now…" : "Retry failed…"}
          </button>
          <button disabled={status === "pending"} onClick={() => setVerb("replay")}>
            Replay…
          </button>
          {status === "pending" && <button onClick={() => setVerb("give_up")}>Give up…</button>}
        </>
      )}
      {verb !== undefined && (
        <BulkDialog verb={verb} filter={filter} onClose={() => setVerb(undefined)} />
      )}
    </div>
  );
}

function shownOf(shown: number, total: Props["total"]): string {
  const onPage = `${countOf(shown, "event")} on this page`;
  // The list is newer than its count, and a search without an index is counted only in part.
  const isKnown = total !== undefined && total.count >= shown + (total.more ? 1 : 0);
  return isKnown ? `${onPage} of ${formatCount(total.count)}${total.more ? "+" : ""}` : onPage;
}

export function FilterBar({ list }: { list: List }) {
  const { filter, narrow } = list;
  const terms = termsOf(filter.find);
  const field = (key: keyof ListFilter) => ({
    value: filter[key],
    onChange: (value: string, replace?: boolean) => narrow({ [key]: value }, replace),
  });
  return (
    <Filters label="Events">
      <SourceFilter {...field("source")} />
      <SelectField label="Status" any="All statuses" options={STATUSES} {...field("status")} />
      <SelectField
        label="Recorded"
        any="Any time"
        options={Object.keys(SPANS)}
        textOf={(option) => SPANS[option]?.label ?? option}
        {...field("last")}
      />
      <TextFilter
        label="Search"
        name="find"
        placeholder="ID, type:order.*, since:7d, body:text"
        {...field("find")}
      />
      {terms.length > 1 &&
        terms.map((term, place) => (
          <button
            key={place}
            type="button"
            title={term}
            onClick={() => narrow({ find: terms.toSpliced(place, 1).join(" ") })}
          >
            {term}
            <X aria-label="Remove the term" />
          </button>
        ))}
      {filter.error !== undefined && (
        <button type="button" onClick={() => narrow({ error: "" })}>
          Error: <ErrorTitle fingerprint={filter.error} />
          <X aria-label="Show all" />
        </button>
      )}
      {isFiltered(filter) && (
        <button type="button" className="plain" onClick={() => list.clear()}>
          Clear
        </button>
      )}
    </Filters>
  );
}

type List = ReturnType<typeof useList>;
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
    clear: () => void navigate({ search: searchOf({}, order) }),
    next: (next: string) => show(next, [...trail, cursor ?? null]),
    previous: () => show(trail.at(-1) ?? undefined, trail.slice(0, -1)),
    first: () => show(undefined, []),
  };
}

function trailOf(state: unknown): Trail {
  const trail = (state as { trail?: unknown } | null)?.trail;
  return Array.isArray(trail) ? trail : [];
}

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { eventsQuery, statsQuery } from "../api/queries.ts";
import { serverNowMs } from "../api/server-clock.ts";
import { Overview } from "../overview/overview.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { useTitle } from "../parts/use-title.ts";
import { EventTable } from "./event-table.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { apiFilter, writeFilter } from "./list-filter.ts";
import { ListTools } from "./list-tools.tsx";
import { NoEvents } from "./no-events.tsx";
import { Pager } from "./pager.tsx";
import { useHold } from "./use-hold.ts";
import { useList } from "./use-list.ts";
import { useSteadyRows } from "./use-steady-rows.ts";

/** The ledger: what goes on, and the events, newest first. */
export function LedgerPage() {
  useTitle("Ledger");
  const list = useList();
  const { filter, cursor } = list;
  const [live, setLive] = useState(true);
  const name = `${writeFilter(filter)}&cursor=${cursor ?? ""}`;
  // An older page is read, not watched.
  const isLive = live && cursor === undefined;
  const ask = () => ({ ...apiFilter(filter, serverNowMs()), cursor, limit: "50" });
  const page = useQuery(eventsQuery(name, ask, isLive));
  const stats = useQuery(statsQuery);
  const hold = useHold();
  const { rows, waiting, letIn } = useSteadyRows(page.data?.events, {
    list: page.isPlaceholderData ? "" : name,
    held: hold.held,
  });
  const sources = Object.keys(stats.data?.sources ?? {});
  return (
    <>
      <h1 className="hidden">Ledger</h1>
      <Overview list={list} stats={stats} />
      <section aria-labelledby="events" className="list" aria-busy={page.isPlaceholderData}>
        <h2 id="events">Events</h2>
        <FilterBar list={list} sources={sources} types={typesOf(rows)} />
        <ListTools
          {...{ list, live, setLive, waiting, letIn }}
          shown={page.data === undefined ? undefined : rows.length}
        />
        {page.error && <ErrorNote error={page.error} onRetry={() => void page.refetch()} />}
        {rows.length > 0 ? (
          <div className="scroll" {...hold.handlers}>
            <EventTable rows={rows} />
          </div>
        ) : (
          page.data !== undefined && <NoEvents filter={filter} sources={sources} />
        )}
        <Pager list={list} next={page.isPlaceholderData ? undefined : page.data?.next} />
      </section>
    </>
  );
}

const typesOf = (rows: readonly { type: string }[]): string[] =>
  [...new Set(rows.map((row) => row.type))].toSorted();

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { countQuery, eventsQuery, statsQuery } from "../api/queries.ts";
import { serverNowMs } from "../api/server-clock.ts";
import { Overview } from "../overview/overview.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { PanelBoundary } from "../parts/panel-boundary.tsx";
import { useTitle } from "../parts/use-title.ts";
import { useMayWrite } from "../session/session-context.ts";
import { EventTable } from "./event-table.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { apiFilter, writeFilter } from "./list-filter.ts";
import { ListTools } from "./list-tools.tsx";
import { NoEvents } from "./no-events.tsx";
import { Pager } from "./pager.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { useRetryKeys } from "./row-keys.ts";
import { useHold } from "./use-hold.ts";
import { useList } from "./use-list.ts";
import { useSelection } from "./use-selection.ts";
import { useSteadyRows } from "./use-steady-rows.ts";

/** The ledger: what goes on, and the events in order of their record. */
export function LedgerPage() {
  useTitle("Ledger");
  const list = useList();
  const { filter, cursor, order } = list;
  const [live, setLive] = useState(true);
  const name = `${writeFilter(filter)}&order=${order}&cursor=${cursor ?? ""}`;
  // An older page is read, not watched.
  const isLive = live && cursor === undefined;
  const filterNow = () => apiFilter(filter, serverNowMs());
  const ask = () => ({ ...filterNow(), order, cursor, limit: "50" });
  const page = useQuery(eventsQuery(name, ask, isLive));
  const total = useQuery(countQuery(writeFilter(filter), filterNow, isLive));
  const stats = useQuery(statsQuery);
  const hold = useHold();
  const [ticked, setTicked] = useState(0);
  const { rows, waiting, letIn } = useSteadyRows(page.data?.events, {
    list: page.isPlaceholderData ? "" : name,
    // Selected events stay in the list, and they are the ones that are retried.
    held: hold.held || ticked > 0,
  });
  const selection = useSelection(rows, name);
  if (selection.rows.length !== ticked) setTicked(selection.rows.length);
  const mayWrite = useMayWrite();
  const { toRetry, setToRetry } = useRetryKeys(rows, selection);
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
          total={total.data}
          selected={selection.rows}
          onRetrySelected={() => setToRetry(selection.rows)}
          shown={page.data === undefined ? undefined : rows.length}
        />
        {page.error && <ErrorNote error={page.error} onRetry={() => void page.refetch()} />}
        {page.isPending && <p className="quiet">Reading events…</p>}
        <PanelBoundary>
          {rows.length > 0 ? (
            <div className="scroll" {...hold.handlers}>
              <EventTable rows={rows} order={order} selection={mayWrite ? selection : undefined} />
            </div>
          ) : (
            page.data !== undefined && <NoEvents filter={filter} sources={sources} />
          )}
        </PanelBoundary>
        {toRetry !== undefined && (
          <RetryDialog
            rows={toRetry}
            onClose={() => setToRetry(undefined)}
            onRetried={() => selection.all(false)}
          />
        )}
        <Pager list={list} next={page.isPlaceholderData ? undefined : page.data?.next} />
      </section>
    </>
  );
}

const typesOf = (rows: readonly { type: string }[]): string[] =>
  [...new Set(rows.map((row) => row.type))].toSorted();

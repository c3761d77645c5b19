import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { countQuery, eventsQuery, statsQuery } from "../api/queries.ts";
import { serverNowMs } from "../api/request.ts";
import { Overview } from "../overview/overview.tsx";
import { Pager } from "../parts/data-table.tsx";
import { ErrorNote, PanelBoundary } from "../parts/error-note.tsx";
import {
  apiFilter,
  eventLink,
  isFiltered,
  writeFilter,
  type ListFilter,
} from "../parts/list-filter.ts";
import { CopyButton } from "../parts/notice.tsx";
import { useTitle } from "../parts/use-title.ts";
import { useMayWrite } from "../session/session.ts";
import { EventTable } from "./event-table.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { ListTools } from "./list-tools.tsx";
import { RetryDialog } from "./retry-dialog.tsx";
import { useList } from "./use-list.ts";
import { useHold, useRetryKeys, useSelection, useSteadyRows } from "./use-rows.ts";

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
  const next = page.isPlaceholderData ? undefined : page.data?.next;
  const words = PAGER_WORDS[order];
  return (
    <>
      <h1 className="hidden">Ledger</h1>
      <Overview filter={filter} stats={stats} />
      <section aria-labelledby="events" className="list" aria-busy={page.isPlaceholderData}>
        <h2 id="events">Events</h2>
        <FilterBar list={list} types={typesOf(rows)} />
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
        <Pager
          steps={{
            [words.first]: cursor !== undefined && list.first,
            [words.previous]: list.trail.length > 0 && list.previous,
            [words.next]: typeof next === "string" && (() => list.next(next)),
          }}
        />
      </section>
    </>
  );
}

const PAGER_WORDS = {
  desc: { first: "Newest", previous: "← Newer", next: "Older →" },
  asc: { first: "Oldest", previous: "← Older", next: "Newer →" },
} as const;

const typesOf = (rows: readonly { type: string }[]): string[] =>
  [...new Set(rows.map((row) => row.type))].toSorted();

interface NoEventsProps {
  readonly filter: ListFilter;
  readonly sources: readonly string[];
}

function NoEvents({ filter, sources }: NoEventsProps) {
  if (!isFiltered(filter)) return <EmptyLedger sources={sources} />;
  const { q } = filter;
  return (
    <div className="empty">
      <h3>No matching events</h3>
      {q === undefined ? (
        <p>Widen or clear the filter.</p>
      ) : (
        <>
          <p>
            No event in the ledger has an ID that starts with <code>{q}</code>. The search is
            case-sensitive. An event that no worker has recorded yet is only in its queue:
          </p>
          <ul className="links">
            {(filter.source === undefined ? sources : [filter.source]).map((source) => (
              <li key={source}>
                <Link to={eventLink(source, q)}>Look in the queue of {source}</Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function EmptyLedger({ sources }: { sources: readonly string[] }) {
  const command = sampleCommand(sources);
  return (
    <div className="empty">
      <h3>No events yet</h3>
      <p>Send a sample event with a valid signature:</p>
      <p className="command">
        <code>{command}</code> <CopyButton text={command} what="the command" />
      </p>
    </div>
  );
}

// Without a type the source's provider sends its usual sample.
const sampleCommand = ([source]: readonly string[]): string =>
  `npx millrace send ${source ?? "<source>"}`;

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { EventRow } from "@millrace/api-contract";
import { countQuery, eventsQuery, statsQuery } from "../api/queries.ts";
import { serverNowMs, request } from "../api/request.ts";
import { Pager } from "../parts/data-table.tsx";
import { apiFilter, isFiltered, writeFilter, type ListFilter } from "../parts/list-filter.ts";
import { CopyButton, notify, ErrorNote, PanelBoundary } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { useMayWrite } from "../session/session.ts";
import { RETRY_MEANING } from "../event/run-again.tsx";
import { EventTable, QueuedEvents } from "./event-table.tsx";
import { FilterBar, ListTools, useList } from "./list-tools.tsx";
import { SidePanel, useSidePanel } from "./side-panel.tsx";
import { useHold, useRetryKeys, useSelection, useSteadyRows, type Selection } from "./use-rows.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { countOf, formatCount } from "../parts/format.ts";

export function EventsPage() {
  const list = useList();
  const { filter, cursor, order } = list;
  const [live, setLive] = useState(true);
  const name = `${writeFilter(filter)}&order=${order}&cursor=${cursor ?? ""}`;
  // An older page is read, not watched, and so are bodies.
  const readsBodies = /(^|\s)body:/.test(filter.find ?? "");
  const isLive = live && cursor === undefined && !readsBodies;
  const filterNow = () => apiFilter(filter, serverNowMs());
  const ask = () => ({ ...filterNow(), order, cursor, limit: "50" });
  const page = useQuery(eventsQuery(name, ask, isLive));
  const total = useQuery({
    ...countQuery(writeFilter(filter), filterNow, isLive),
    enabled: !readsBodies,
  });
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
  const side = useSidePanel();
  const { toRetry, setToRetry } = useRetryKeys(rows, selection);
  const sources = Object.keys(stats.data?.sources ?? {});
  const queued = page.data?.queued ?? null;
  const next = page.isPlaceholderData ? undefined : page.data?.next;
  const words = PAGER_WORDS[order];
  const searchedTo = page.isPlaceholderData ? null : page.data?.searched_to;
  const goOn = page.isFetching && rows.length === 0 ? "Searching…" : `Search on: ${words.next}`;
  return (
    <section aria-label="Events" className="list" aria-busy={page.isPlaceholderData}>
      <PageHead title="Events" />
      <FilterBar list={list} />
      <ListTools
        {...{ list, live, setLive, waiting, letIn }}
        total={total.data}
        searching={page.isPlaceholderData}
        shown={page.data === undefined ? undefined : rows.length}
      />
      {page.error && <ErrorNote error={page.error} onRetry={() => void page.refetch()} />}
      {page.isPending && <p className="quiet">Reading events…</p>}
      <PanelBoundary>
        {page.data !== undefined && <QueuedEvents queued={queued} />}
        {rows.length > 0 ? (
          <div {...hold.handlers}>
            <div {...side.handlers}>
              <EventTable
                rows={rows}
                order={order}
                selection={mayWrite ? selection : undefined}
                onRetry={(row) => setToRetry([row])}
              />
            </div>
          </div>
        ) : (
          page.data !== undefined &&
          !queued?.events.length && (
            <NoEvents {...{ filter, sources }} goOn={typeof next === "string" && goOn} />
          )
        )}
      </PanelBoundary>
      {typeof searchedTo === "string" && (
        <p className="quiet">
          Searched to {new Date(searchedTo).toLocaleString()}. {rows.length > 0 && goOn}
        </p>
      )}
      {side.link !== undefined && <SidePanel link={side.link} onClose={side.close} />}
      <SelectionBar selection={selection} onRetry={() => setToRetry(selection.rows)} />
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
  );
}

function SelectionBar({ selection, onRetry }: { selection: Selection; onRetry: () => void }) {
  const { rows, all } = selection;
  if (rows.length === 0) return null;
  return (
    <div className="bar" role="group" aria-label="Selected events">
      <span>{countOf(rows.length, "event")} selected</span>
      <button
        className="primary"
        disabled={!rows.some(({ status }) => status === "failed")}
        onClick={onRetry}
      >
        Retry {formatCount(rows.length)} selected…
      </button>
      <button className="plain" onClick={() => all(false)}>
        Select none
      </button>
    </div>
  );
}

const PAGER_WORDS = {
  desc: { first: "Newest", previous: "← Newer", next: "Older →" },
  asc: { first: "Oldest", previous: "← Older", next: "Newer →" },
} as const;

interface NoEventsProps {
  readonly filter: ListFilter;
  readonly sources: readonly string[];
  readonly goOn: string | false;
}

function NoEvents({ filter, sources, goOn }: NoEventsProps) {
  if (goOn !== false) return <p className="empty">No event matches so far. {goOn}</p>;
  if (!isFiltered(filter)) return <EmptyLedger sources={sources} />;
  const { find } = filter;
  return (
    <div className="empty">
      <h2>No matching events</h2>
      {find === undefined ? (
        <p>Widen or clear the filter.</p>
      ) : (
        <p>
          No event in the ledger matches <code>{find}</code>, and no queue has one with this ID. The
          search is case-sensitive.
        </p>
      )}
    </div>
  );
}

function EmptyLedger({ sources: [source = "<source>"] }: { sources: readonly string[] }) {
  // Without a type the source's provider sends its usual sample.
  const command = `npx millrace send ${source}`;
  return (
    <div className="empty">
      <h2>No events yet</h2>
      <p>Send a sample event with a valid signature:</p>
      <p className="command">
        <code>{command}</code> <CopyButton text={command} what="the command" />
      </p>
    </div>
  );
}

interface Props {
  readonly rows: readonly EventRow[];
  readonly onClose: () => void;
  readonly onRetried: () => void;
}

function RetryDialog({ rows, onClose, onRetried }: Props) {
  const failed = rows.filter((row) => row.status === "failed");
  const others = rows.length - failed.length;
  const events = failed.map(({ source, event_id, generation }) => {
    return { source, event_id, generation };
  });
  return (
    <ReasonDialog
      title={`Retry ${countOf(failed.length, "failed event")}`}
      disabled={failed.length === 0}
      act={(reason) => request("post /retry", { body: { events, reason } })}
      onDone={(answer) => {
        // A call that names its events starts no run.
        const retried = "retried" in answer ? answer.retried : 0;
        const left = failed.length - retried;
        const done = `Retried ${countOf(retried, "event")}.`;
        const rest = `${countOf(left, "event")} could not be retried: see each one.`;
        notify(left === 0 ? done : `${done} ${rest}`);
        onRetried();
      }}
      onClose={onClose}
    >
      <p>{RETRY_MEANING}</p>
      {others > 0 && (
        <p className="quiet">
          {countOf(others, "selected event")} {others === 1 ? "has" : "have"} not failed, and{" "}
          {others === 1 ? "is" : "are"} left alone.
        </p>
      )}
    </ReasonDialog>
  );
}

import type { SourceStats } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { activityQuery, statsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import { STATUSES } from "../parts/badge.tsx";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { ReasonDialog } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { formatCount } from "../parts/format.ts";
import { writeFilter } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { useMayWrite } from "../session/session.ts";
import {
  arrangeSources,
  nextOrder,
  type NamedSource,
  type Order,
  type SortedBy,
} from "./arrange-sources.ts";
import { Sparkline } from "./charts.tsx";

const SEARCHED_MIN = 9;

export function SourcesTable() {
  const stats = useQuery(statsQuery);
  const [search, setSearch] = useState("");
  const [folded, setFolded] = useState(true);
  const [order, setOrder] = useState<Order>({ column: "source", descending: false });
  const sources = Object.entries(stats.data?.sources ?? {});
  const { rows, quiet } = arrangeSources(sources, { search, order, folded });
  return (
    <section className="source-list" aria-label="Sources">
      {stats.error && <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />}
      {stats.isPending && <p className="quiet">Counting events…</p>}
      {sources.length >= SEARCHED_MIN && (
        <input
          type="search"
          aria-label="Search sources"
          placeholder={`Search ${sources.length} sources`}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      <DataTable
        caption="Events and jobs by source"
        columns={columnsOf(order, setOrder)}
        rows={rows}
        total={sources.length > 1 ? [ALL, totalOf(sources.map(([, of]) => of))] : undefined}
        keyOf={([source]) => source}
      />
      {sources.map(
        ([source, of]) =>
          of.refused.length > 0 && (
            <p key={source}>
              <strong>{source} refuses deliveries</strong>: {refusalsOf(of)}.{" "}
              <code>millrace verify</code> says why it refuses one.
            </p>
          ),
      )}
      {sources.length > 0 && rows.length === 0 && quiet === 0 && (
        <p className="quiet">No source has such a name.</p>
      )}
      {quiet > 0 && (
        <button className="plain" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          {folded
            ? `${quiet} ${rows.length > 0 ? "more" : "sources"}, all quiet`
            : "Fold quiet sources"}
        </button>
      )}
    </section>
  );
}

const ALL = "";

function columnsOf(order: Order, onOrder: (order: Order) => void): Column<NamedSource>[] {
  const sorting = (column: SortedBy, title?: string) => {
    const isSorted = order.column === column;
    return {
      id: column,
      sorted: isSorted ? (order.descending ? "descending" : "ascending") : undefined,
      header: (
        <button className="sort" title={title} onClick={() => onOrder(nextOrder(order, column))}>
          {column[0]?.toUpperCase() + column.slice(1)}
          {isSorted && <span aria-hidden="true">{order.descending ? "↓" : "↑"}</span>}
        </button>
      ),
    } as const;
  };
  return [
    { ...sorting("source"), cell: (row) => <Source row={row} /> },
    {
      ...sorting("queued", "Jobs that are waiting, active, or delayed, as Queues has them"),
      cell: ([, of]) => (
        <span title={depthsOf(of)}>{of.queued === null ? "–" : formatCount(of.queued)}</span>
      ),
    },
    ...STATUSES.map((status) => ({
      ...sorting(status),
      cell: ([source, of]: NamedSource) => (
        <Link
          className={of[status] > 0 ? "" : "quiet"}
          to={`/events?${writeFilter({ source, status })}`}
        >
          {formatCount(of[status])}
          <span className="hidden">
            {" "}
            {status} events{source !== ALL && ` of ${source}`}
          </span>
        </Link>
      ),
    })),
    {
      id: "hour",
      header: "Last hour",
      cell: ([source]) => source !== ALL && <LastHour source={source} />,
    },
    {
      id: "menu",
      header: <span className="hidden">Actions</span>,
      cell: ([source, { jobs }]) =>
        jobs !== null && <PauseMenu source={source} paused={jobs.paused} />,
    },
  ];
}

function Source({ row: [source, of] }: { row: NamedSource }) {
  if (source === ALL) return <strong>All</strong>;
  return (
    <>
      <Link to={`/events?${writeFilter({ source })}`}>{source}</Link>
      {of.jobs?.paused === true && (
        <>
          {" "}
          <span className="badge paused">paused</span>
        </>
      )}
      {of.refused.length > 0 && (
        <span className="badge failed" title={refusalsOf(of)}>
          refuses
        </span>
      )}
    </>
  );
}

function LastHour({ source }: { source: string }) {
  const { data } = useQuery(activityQuery({ source, range: "1h" }));
  if (data === undefined) return null;
  return <Sparkline buckets={data.buckets} label={`Events of ${source} in the last hour`} />;
}

function PauseMenu({ source, paused }: { source: string; paused: boolean }) {
  const [asked, setAsked] = useState(false);
  if (!useMayWrite()) return null;
  const verb = paused ? "resume" : "pause";
  const label = paused ? "Resume" : "Pause";
  return (
    <>
      <RowMenu
        label={`Actions of ${source}`}
        items={[{ text: `${label} ${source}…`, act: () => setAsked(true) }]}
      />
      {asked && (
        <ReasonDialog
          title={`${label} ${source}`}
          label={`${label} ${source}`}
          act={(reason) =>
            request(`post /sources/:source/${verb}`, { params: { source }, body: { reason } })
          }
          onDone={() => notify({ kind: "done", text: `${label}d ${source}.` })}
          onClose={() => setAsked(false)}
        >
          <p>
            {paused
              ? "Workers process the events of this source again, oldest first."
              : "Deliveries are still accepted and acknowledged. Workers do not process them until you resume the source."}
          </p>
        </ReasonDialog>
      )}
    </>
  );
}

function totalOf(sources: readonly SourceStats[]): SourceStats {
  const sumOf = (count: (of: SourceStats) => number) =>
    sources.reduce((sum, of) => sum + count(of), 0);
  // A sum without one of them would read as if all were in it.
  const isKnown = sources.every((of) => of.queued !== null);
  const [pending, failed, completed] = STATUSES.map((status) => sumOf((of) => of[status]));
  return {
    ...{ pending: pending ?? 0, failed: failed ?? 0, completed: completed ?? 0 },
    queued: isKnown ? sumOf((of) => of.queued ?? 0) : null,
    ...{ jobs: null, refused: [] },
  };
}

/** `12 no_secret_matches, 3 too_old in the last 5 min`. */
function refusalsOf({ refused }: SourceStats): string {
  const reasons = refused.map(({ reason, deliveries }) => `${formatCount(deliveries)} ${reason}`);
  return `${reasons.join(", ")} in the last 5 min`;
}

function depthsOf({ jobs }: SourceStats): string {
  if (jobs === null)
    return "The queue does not answer or is refused, or the source is not in the config";
  const { waiting, active, delayed } = jobs;
  return `${waiting} waiting, ${active} active, ${delayed} delayed`;
}

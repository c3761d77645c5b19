import type { SourceStats } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { activityQuery, statsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import { STATUSES } from "../parts/badge.tsx";
import { DataTable, type Column, RowMenu } from "../parts/data-table.tsx";
import { ReasonDialog } from "../parts/dialog.tsx";
import { formatCount, titleOf } from "../parts/format.ts";
import { writeFilter } from "../parts/list-filter.ts";
import { notify, ErrorNote, PanelBoundary } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { useMayWrite } from "../session/session.ts";
import { Sparkline } from "./charts.tsx";

export function SourcesPage() {
  return (
    <>
      <PageHead
        title="Sources"
        about="Events by source and status, and the jobs that wait on its queue."
      />
      <PanelBoundary>
        <SourcesTable />
      </PanelBoundary>
    </>
  );
}

type NamedSource = readonly [name: string, of: SourceStats];

export function SourcesTable() {
  const stats = useQuery(statsQuery);
  const sources = Object.entries(stats.data?.sources ?? {}).toSorted(
    ([a, ofA], [b, ofB]) => ofB.failed - ofA.failed || a.localeCompare(b),
  );
  return (
    <section className="source-list" aria-label="Sources">
      {stats.error && <ErrorNote error={stats.error} onRetry={() => void stats.refetch()} />}
      {stats.isPending && <p className="quiet">Counting events…</p>}
      <DataTable
        caption="Events and jobs by source"
        columns={COLUMNS}
        rows={sources}
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
    </section>
  );
}

const ALL = "";

const COLUMNS: Column<NamedSource>[] = [
  { id: "source", header: "Source", cell: (row) => <Source row={row} /> },
  {
    id: "queued",
    header: (
      <span title="Jobs that are waiting, active, or delayed, as Queues has them">Queued</span>
    ),
    cell: ([, of]) => (
      <span title={depthsOf(of)}>{of.queued === null ? "–" : formatCount(of.queued)}</span>
    ),
  },
  ...STATUSES.map((status) => ({
    id: status,
    header: titleOf(status),
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
  const label = titleOf(verb);
  return (
    <>
      <RowMenu
        label={`Actions of ${source}`}
        items={[{ text: `${label} ${source}…`, act: () => setAsked(true) }]}
      />
      {asked && (
        <ReasonDialog
          title={`${label} ${source}`}
          act={(reason) =>
            request(`post /sources/:source/${verb}`, { params: { source }, body: { reason } })
          }
          onDone={() => notify(`${label}d ${source}.`)}
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
  const sumOf = (name: (typeof STATUSES)[number] | "queued") =>
    sources.reduce((sum, of) => sum + (of[name] ?? 0), 0);
  // A sum without one of them would read as if all were in it.
  const isKnown = sources.every((of) => of.queued !== null);
  return {
    ...{ pending: sumOf("pending"), failed: sumOf("failed"), completed: sumOf("completed") },
    ...{ queued: isKnown ? sumOf("queued") : null, jobs: null, refused: [] },
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

import type { SourceStats } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { activityQuery, statsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import { STATUSES } from "../parts/badge.tsx";
import { ReasonDialog } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { formatCount } from "../parts/format.ts";
import { writeFilter } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";
import { RowMenu } from "../parts/row-menu.tsx";
import { useMayWrite } from "../session/session.ts";
import { arrangeSources, nextOrder, type Column, type Order } from "./arrange-sources.ts";
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
      {sources.length > 0 && (
        <div className="scroll">
          <table className="data cards">
            <caption className="hidden">Events and jobs by source</caption>
            <thead>
              <tr>
                {COLUMNS.map((column) => (
                  <SortHead key={column} {...{ column, order }} onOrder={setOrder} />
                ))}
                <th scope="col">Last hour</th>
                <th scope="col">
                  <span className="hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map(([source, of]) => (
                <SourceRow key={source} source={source} of={of} />
              ))}
            </tbody>
            {sources.length > 1 && <Total sources={sources.map(([, of]) => of)} />}
          </table>
        </div>
      )}
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

const COLUMNS: readonly Column[] = ["source", "queued", ...STATUSES];

interface SortHeadProps {
  readonly column: Column;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

function SortHead({ column, order, onOrder }: SortHeadProps) {
  const direction = order.descending ? "descending" : "ascending";
  const isSorted = order.column === column;
  return (
    <th scope="col" className={column} aria-sort={isSorted ? direction : undefined}>
      <button
        className="sort"
        title={
          column === "queued"
            ? "Jobs that are waiting, active, or delayed, as Queues has them"
            : undefined
        }
        onClick={() => onOrder(nextOrder(order, column))}
      >
        {column[0]?.toUpperCase() + column.slice(1)}
        <span aria-hidden="true">{isSorted ? (order.descending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

function SourceRow({ source, of }: { source: string; of: SourceStats }) {
  return (
    <tr>
      <th scope="row">
        <Link to={`/events?${writeFilter({ source })}`}>{source}</Link>
        {of.jobs?.paused === true && <span className="badge paused">paused</span>}
        {of.refused.length > 0 && (
          <span className="badge failed" title={refusalsOf(of)}>
            refuses
          </span>
        )}
      </th>
      <td className="queued" data-label="Queued" title={depthsOf(of)}>
        {formatQueued(of.queued)}
      </td>
      {STATUSES.map((status) => (
        <Cell key={status} status={status} count={of[status]} source={source} />
      ))}
      <td>
        <LastHour source={source} />
      </td>
      <td className="menu">
        {of.jobs !== null && <PauseMenu source={source} paused={of.jobs.paused} />}
      </td>
    </tr>
  );
}

interface CellProps {
  readonly status: (typeof STATUSES)[number];
  readonly count: number;
  readonly source?: string;
}

function Cell({ status, count, source }: CellProps) {
  const name = status.charAt(0).toUpperCase() + status.slice(1);
  return (
    <td className={count > 0 ? status : `${status} zero`} data-label={name}>
      <Link to={`/events?${writeFilter({ ...(source && { source }), status })}`}>
        {formatCount(count)}
        <span className="hidden">
          {" "}
          {status} events{source !== undefined && ` of ${source}`}
        </span>
      </Link>
    </td>
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

function Total({ sources }: { sources: readonly SourceStats[] }) {
  const sumOf = (count: (of: SourceStats) => number) =>
    sources.reduce((sum, of) => sum + count(of), 0);
  // A sum without one of them would read as if all were in it.
  const isKnown = sources.every((of) => of.queued !== null);
  const queued = isKnown ? sumOf((of) => of.queued ?? 0) : null;
  return (
    <tfoot>
      <tr>
        <th scope="row">All</th>
        <td className="queued" data-label="Queued">
          {formatQueued(queued)}
        </td>
        {STATUSES.map((status) => (
          <Cell key={status} status={status} count={sumOf((of) => of[status])} />
        ))}
        <td />
        <td />
      </tr>
    </tfoot>
  );
}

/** `12 no_secret_matches, 3 too_old in the last 5 min`. */
function refusalsOf({ refused }: SourceStats): string {
  const reasons = refused.map(({ reason, deliveries }) => `${formatCount(deliveries)} ${reason}`);
  return `${reasons.join(", ")} in the last 5 min`;
}

const formatQueued = (queued: number | null): string =>
  queued === null ? "–" : formatCount(queued);

function depthsOf({ jobs }: SourceStats): string {
  if (jobs === null)
    return "The queue does not answer or is refused, or the source is not in the config";
  const { waiting, active, delayed } = jobs;
  return `${waiting} waiting, ${active} active, ${delayed} delayed`;
}

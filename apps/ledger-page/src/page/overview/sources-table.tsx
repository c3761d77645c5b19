import type { SourceStats, Stats } from "@millrace/api-contract";
import { useState } from "react";
import { Link } from "react-router";
import { request } from "../api/request.ts";
import { STATUSES } from "../parts/badge.tsx";
import { ReasonDialog } from "../parts/dialog.tsx";
import { formatCount } from "../parts/format.ts";
import { writeFilter, type ListFilter } from "../parts/list-filter.ts";
import { notify } from "../parts/notice.tsx";
import { useMayWrite } from "../session/session.ts";
import { arrangeSources, nextOrder, type Column, type Order } from "./arrange-sources.ts";

const SEARCHED_MIN = 9;

export function SourcesTable({ filter, stats }: { filter: ListFilter; stats: Stats }) {
  const [search, setSearch] = useState("");
  const [folded, setFolded] = useState(true);
  const [order, setOrder] = useState<Order>({ column: "source", descending: false });
  const sources = Object.entries(stats.sources);
  const view = { search, order, folded, shown: filter.source };
  const { rows, quiet } = arrangeSources(sources, view);
  const shown = filter.source === undefined ? undefined : stats.sources[filter.source];
  return (
    <>
      {sources.length >= SEARCHED_MIN && (
        <input
          type="search"
          aria-label="Search sources"
          placeholder={`Search ${sources.length} sources`}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      )}
      <div className="scroll">
        <table className="counts">
          <caption>Events and jobs by source</caption>
          <thead>
            <tr>
              {COLUMNS.map((column) => (
                <SortHead key={column} {...{ column, order }} onOrder={setOrder} />
              ))}
              <th scope="col">
                <span className="hidden">Pause</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([source, of]) => (
              <SourceRow key={source} source={source} of={of} filter={filter} />
            ))}
          </tbody>
          {sources.length > 1 && <Total sources={sources.map(([, of]) => of)} />}
        </table>
      </div>
      {shown !== undefined && shown.refused.length > 0 && (
        <p>
          <strong>{filter.source} refuses deliveries</strong>: {refusalsOf(shown)}.{" "}
          <code>millrace verify</code> says why it refuses one.
        </p>
      )}
      {rows.length === 0 && quiet === 0 && <p className="quiet">No source has such a name.</p>}
      {quiet > 0 && (
        <button className="small fold" aria-expanded={!folded} onClick={() => setFolded(!folded)}>
          {folded
            ? `${quiet} ${rows.length > 0 ? "more" : "sources"}, all quiet`
            : "Fold quiet sources"}
        </button>
      )}
    </>
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
    <th scope="col" aria-sort={isSorted ? direction : undefined}>
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

function SourceRow(props: { source: string; of: SourceStats; filter: ListFilter }) {
  const { source, of, filter } = props;
  const isShown = filter.source === source;
  return (
    <tr className={isShown ? "shown" : ""}>
      <th scope="row">
        <Link to={`/?${writeFilter({ source })}`} aria-current={isShown ? "true" : undefined}>
          {source}
        </Link>
        {of.jobs?.paused === true && <span className="badge paused">paused</span>}
        {of.refused.length > 0 && (
          <span className="badge failed" title={refusalsOf(of)}>
            refuses
          </span>
        )}
      </th>
      <td title={depthsOf(of)}>{formatQueued(of.queued)}</td>
      {STATUSES.map((status) => (
        <td key={status} className={of[status] > 0 ? status : "quiet"}>
          <Link to={`/?${writeFilter({ source, status })}`}>
            {formatCount(of[status])}
            <span className="hidden">
              {" "}
              {status} events of {source}
            </span>
          </Link>
        </td>
      ))}
      <td>{of.jobs !== null && <PauseButton source={source} paused={of.jobs.paused} />}</td>
    </tr>
  );
}

function PauseButton({ source, paused }: { source: string; paused: boolean }) {
  const [asked, setAsked] = useState(false);
  if (!useMayWrite()) return null;
  const verb = paused ? "resume" : "pause";
  const label = paused ? "Resume" : "Pause";
  return (
    <>
      <button className="small" onClick={() => setAsked(true)}>
        <span className="hidden">
          {label} {source}…
        </span>
        <span className="wide" aria-hidden="true">
          {label}…
        </span>
        <span className="narrow" aria-hidden="true">
          {paused ? "▸" : "‖"}
        </span>
      </button>
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
        <td>{formatQueued(queued)}</td>
        {STATUSES.map((status) => (
          <td key={status}>
            <Link to={`/?${writeFilter({ status })}`}>
              {formatCount(sumOf((of) => of[status]))}
              <span className="hidden"> {status} events</span>
            </Link>
          </td>
        ))}
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

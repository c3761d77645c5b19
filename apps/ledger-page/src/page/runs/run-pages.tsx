import type { BodyOf, BulkRun } from "@millrace/api-contract";
import { durationOf, runResult } from "@millrace/api-contract/run-text";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronLeft } from "lucide-react";
import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import { Link, useParams } from "react-router";
import { runQuery, runsQuery } from "../api/queries.ts";
import { request } from "../api/request.ts";
import { ReasonDialog } from "../parts/dialog.tsx";
import { ErrorNote } from "../parts/notice.tsx";
import { Filters, TextFilter, useUrlFields } from "../parts/filters.tsx";
import { formatCount, personName } from "../parts/format.ts";
import { Age } from "../parts/time.tsx";
import { PageHead, useTitle } from "../parts/panel.tsx";
import { useMayWrite } from "../session/session.ts";
import { FilterText, FilterWords, RateField, Skipped } from "./bulk-dialog.tsx";
import { isOpen, progressText, readRate } from "./bulk.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";

export function RunPage() {
  const { id = "" } = useParams();
  useTitle(`Run ${id}`);
  const run = useQuery(runQuery(id));
  const heading = useRef<HTMLHeadingElement>(null);
  const { data, error } = run;
  return (
    <section className="list">
      <p className="back">
        <Link to="/runs">
          <ChevronLeft /> Runs
        </Link>
      </p>
      <h1 ref={heading} tabIndex={-1}>
        Run {id}
        {data !== undefined && `: ${data.verb.replaceAll("_", " ")}, ${data.state}`}
      </h1>
      {error && <ErrorNote error={error} onRetry={() => void run.refetch()} />}
      {data === undefined && error === null && <p role="status">Loading…</p>}
      {data !== undefined && <Run run={data} heading={heading} />}
    </section>
  );
}

interface RunProps {
  readonly run: BulkRun;
  readonly heading: RefObject<HTMLHeadingElement | null>;
}

function Run({ run, heading }: RunProps) {
  const mayWrite = useMayWrite();
  return (
    <div className="panel list">
      <div>
        {run.verb !== "give_up" && <ResultBar run={run} />}
        <p>
          {progressText(run)}
          {isOpen(run) && `, ${formatCount(run.rate)} a second`}
          {run.estimate_seconds !== null && `, ${durationOf(run.estimate_seconds * 1_000)} left`}
          {isOpen(run) && run.taken_at === null && ". No worker has taken it yet"}
        </p>
      </div>
      <p>
        <strong>{runResult(run)}</strong>
        {run.results.failed > 0 && (
          <>
            {" · "}
            <Link to={`/events?run=${run.id}&status=failed`}>Show those that failed again</Link>
          </>
        )}
      </p>
      <Skipped reasons={run.skipped} />
      {run.error !== null && <p className="note bad">{run.error}</p>}
      <FilterWords filter={run.filter} />
      <p className="quiet">
        Started <Age at={run.created_at} /> by {startedBy(run)}
        {run.reason !== null && `: ${run.reason}`}
      </p>
      {mayWrite && isOpen(run) && <RunActs run={run} heading={heading} />}
      {mayWrite && run.state === "stopped" && <Continue run={run} />}
    </div>
  );
}

/** The events that completed, failed again, and are pending, of all that the run is about. */
function ResultBar({ run: { listed, total, results } }: { run: BulkRun }) {
  const all = Math.max(1, total ?? listed);
  const { completed, failed, pending } = results;
  return (
    <div
      className="result-bar"
      role="img"
      aria-label={`${formatCount(completed)} completed, ${formatCount(failed)} failed, ${formatCount(pending)} pending, of ${formatCount(all)}`}
    >
      {Object.entries({ completed, failed, pending }).map(([status, count]) => (
        <span key={status} className={status} style={{ width: `${(100 * count) / all}%` }} />
      ))}
    </div>
  );
}

function useChange(id: number) {
  const client = useQueryClient();
  const send = (body: BodyOf<"post /runs/:id">) =>
    request("post /runs/:id", { params: { id: String(id) }, body });
  const onSettled = () => client.invalidateQueries();
  return { send, change: useMutation({ mutationFn: send, onSettled }) };
}

function Continue({ run: { id, total, listed } }: { run: BulkRun }) {
  const { change } = useChange(id);
  if (total !== null && total <= listed) return null;
  const others = total === null ? "others" : `other ${formatCount(total - listed)}`;
  return (
    <div className="run-acts">
      <button onClick={() => change.mutate({ state: "running" })}>
        Continue with the {others}
      </button>
      {change.error && <ErrorNote error={change.error} />}
    </div>
  );
}

/** `heading` takes the focus when the run ends and its buttons go. */
function RunActs({ run, heading }: RunProps) {
  const { id, state } = run;
  const { send, change } = useChange(id);
  const [rate, setRate] = useState(String(run.rate));
  const [isStopping, setStopping] = useState(false);
  const newRate = readRate(rate);
  const acts = useRef<HTMLDivElement>(null);
  // Before the buttons leave the page: afterwards the focus would be nowhere.
  useLayoutEffect(() => {
    const mine = acts.current;
    return () => {
      if (mine?.contains(document.activeElement)) heading.current?.focus();
    };
  }, [heading]);
  return (
    <div ref={acts}>
      <div className="run-acts">
        {/* One button for both, so that it keeps the focus. */}
        <button onClick={() => change.mutate({ state: state === "paused" ? "running" : "paused" })}>
          {state === "paused" ? "Resume" : "Pause"}
        </button>
        <button className="danger" onClick={() => setStopping(true)}>
          Stop…
        </button>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (newRate !== undefined) change.mutate({ rate: newRate });
          }}
        >
          <RateField value={rate} onChange={setRate} />
          <button disabled={newRate === undefined}>Set rate</button>
        </form>
      </div>
      {change.error && <ErrorNote error={change.error} />}
      {isStopping && (
        <ReasonDialog
          title={`Stop run ${id}`}
          className="danger"
          act={(reason) => send({ state: "stopped", reason })}
          onClose={() => setStopping(false)}
        >
          <p>Events that it has reached run to their end. The others are left as they are.</p>
        </ReasonDialog>
      )}
    </div>
  );
}

export function RunsPage() {
  const { given, field } = useUrlFields("cursor");
  const find = given("find");
  const runs = useQuery(runsQuery({ find }));
  const { data, error } = runs;
  return (
    <section className="list">
      <PageHead
        title="Runs"
        about="Retries and replays of many events. The workers carry them on when this page is closed."
      />
      {error && <ErrorNote error={error} onRetry={() => void runs.refetch()} />}
      <p role="status" className="quiet">
        {data === undefined && error === null && "Loading…"}
      </p>
      <Filters label="Runs">
        <TextFilter label="Search" placeholder="state:stopped by:ops since:7d" {...field("find")} />
      </Filters>
      {data?.runs.length === 0 && (
        <div className="empty">
          <h2>{find === undefined ? "No runs yet" : "No matching runs"}</h2>
          <p>Retry or replay many events in the ledger to start one.</p>
        </div>
      )}
      <DataTable
        caption="Runs, newest first"
        columns={COLUMNS}
        rows={data?.runs}
        keyOf={({ id }) => String(id)}
        classOf={({ state }) => (state === "failed" ? "failed" : "")}
      />
    </section>
  );
}

const startedBy = ({ started_by, via }: BulkRun) => personName({ actor: started_by, via });

const COLUMNS: Column<BulkRun>[] = [
  {
    id: "run",
    header: "Run",
    cell: (run) => (
      <Link to={`/runs/${run.id}`}>
        {run.id} {run.verb.replaceAll("_", " ")}
      </Link>
    ),
  },
  {
    id: "state",
    header: "State",
    cell: ({ state }) => <span className={`badge ${state}`}>{state}</span>,
  },
  { id: "target", header: "Of", cell: (run) => <FilterText filter={run.filter} /> },
  { id: "reached", header: "Progress", cell: (run) => progressText(run) },
  { id: "results", header: "Result", cell: (run) => runResult(run) },
  { id: "who", header: "By", cell: startedBy },
  { id: "when", header: "Started", cell: (run) => <Age at={run.created_at} /> },
];

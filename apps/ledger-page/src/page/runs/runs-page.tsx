import type { BulkRun } from "@millrace/api-contract";
import { runResult } from "@millrace/api-contract/run-text";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { runsQuery } from "../api/queries.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { progressText } from "../parts/run-text.ts";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/use-title.ts";

export function RunsPage() {
  useTitle("Runs");
  const runs = useQuery(runsQuery);
  const { data, error } = runs;
  return (
    <section className="list">
      <h1>Runs</h1>
      <p className="quiet">
        Retries and replays of many events. The workers carry them on when this page is closed.
      </p>
      {error && <ErrorNote error={error} onRetry={() => void runs.refetch()} />}
      <p role="status" className="quiet">
        {data === undefined && error === null && "Loading…"}
      </p>
      {data?.runs.length === 0 && (
        <div className="empty">
          <h2>No runs yet</h2>
          <p>Retry or replay many events in the ledger to start one.</p>
        </div>
      )}
      {data !== undefined && data.runs.length > 0 && (
        <div className="scroll">
          <DataTable
            caption="Runs, newest first"
            columns={columns}
            rows={data.runs}
            keyOf={({ id }) => String(id)}
            classOf={({ state }) => (state === "failed" ? "failed" : "")}
          />
        </div>
      )}
    </section>
  );
}

const columns: Column<BulkRun>[] = [
  {
    id: "run",
    header: "Run",
    cell: (run) => (
      <Link to={`/runs/${run.id}`}>
        {run.id} {run.verb.replaceAll("_", " ")}
      </Link>
    ),
  },
  { id: "state", header: "State", cell: (run) => run.state },
  { id: "reached", header: "Progress", cell: (run) => progressText(run) },
  { id: "results", header: "Result", cell: (run) => runResult(run) },
  { id: "who", header: "Who", cell: (run) => run.started_by ?? "unknown user" },
  { id: "when", header: "Started", cell: (run) => <Time at={run.created_at} /> },
];

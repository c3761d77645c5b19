import type { BulkRun } from "@millrace/api-contract";
import { runResult } from "@millrace/api-contract/run-text";
import { useQuery } from "@tanstack/react-query";
import { useRef, type RefObject } from "react";
import { Link, useParams } from "react-router";
import { runQuery } from "../api/queries.ts";
import { durationOf } from "../parts/age.ts";
import { formatCount } from "../parts/count.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Skipped } from "../parts/skipped.tsx";
import { Age } from "../parts/time.tsx";
import { useTitle } from "../parts/use-title.ts";
import { useMayWrite } from "../session/session-context.ts";
import { RunActs } from "./run-acts.tsx";
import { isOpen, progressText } from "./run-text.ts";

/** One bulk run as it goes on, and what changes it. */
export function RunPage() {
  const { id = "" } = useParams();
  useTitle(`Run ${id}`);
  const run = useQuery(runQuery(id));
  const heading = useRef<HTMLHeadingElement>(null);
  const { data, error } = run;
  return (
    <section className="list">
      <p>
        <Link to="/runs">← Runs</Link>
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
    <>
      <Progress run={run} />
      <p>
        <strong>{runResult(run)}</strong>
      </p>
      <Skipped reasons={run.skipped} />
      {run.error !== null && <p className="note bad">{run.error}</p>}
      <Filter run={run} />
      <p className="quiet">
        Started <Age at={run.created_at} /> by {run.started_by ?? "unknown user"}
        {run.reason !== null && `: ${run.reason}`}
      </p>
      {isOpen(run) && mayWrite && <RunActs run={run} focusNext={heading} />}
    </>
  );
}

function Progress({ run }: { run: BulkRun }) {
  const { listed, total, rate, estimate_seconds } = run;
  // Without a value the bar says that the end is not known.
  const value = total === null && isOpen(run) ? {} : { value: listed, max: total ?? listed };
  return (
    <div>
      {isOpen(run) && <progress className="run-progress" aria-label="Events reached" {...value} />}
      <p>
        {progressText(run)}
        {isOpen(run) && `, ${formatCount(rate)} a second`}
        {run.state === "running" &&
          estimate_seconds !== null &&
          `, ${durationOf(estimate_seconds * 1_000)} left`}
        {isOpen(run) && run.taken_at === null && ". No worker has taken it yet"}
      </p>
    </div>
  );
}

function Filter({ run: { filter } }: { run: BulkRun }) {
  const given = Object.entries(filter);
  if (given.length === 0) return <p className="filter-words">All events in the ledger</p>;
  return (
    <ul className="filter-words" aria-label="Filter">
      {given.map(([key, value]) => (
        <li key={key}>
          {key} <code>{String(value)}</code>
        </li>
      ))}
    </ul>
  );
}

import type { ErrorDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft } from "lucide-react";
import { Link, useParams } from "react-router";
import { errorQuery, eventQuery, eventsQuery, runsQuery } from "../api/queries.ts";
import { RelatedEvents } from "../event/event-panels.tsx";
import { barPath, topOf } from "../overview/axes.ts";
import { Plot, TimeTicks } from "../overview/charts.tsx";
import { Frames } from "../event/timeline.tsx";
import { Fact, Panel, useTitle } from "../parts/panel.tsx";
import { countOf, formatCount, formatShare, titleOf } from "../parts/format.ts";
import { writeFilter } from "../parts/list-filter.ts";
import { CopyButton, ErrorNote } from "../parts/notice.tsx";
import { Age } from "../parts/time.tsx";
import { runResult } from "@millrace/api-contract/run-text";
import { useErrorActs } from "./errors-page.tsx";

export function ErrorPage() {
  const { fingerprint = "" } = useParams();
  const { data, error, refetch } = useQuery(errorQuery(fingerprint));
  useTitle(data?.title ?? "Error");
  return (
    <article className="list">
      <p className="back">
        <Link to="/errors">
          <ChevronLeft /> Errors
        </Link>
      </p>
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <p role="status">Loading…</p>}
      {data !== undefined && (
        <>
          <Head error={data} />
          <div className="event-parts">
            <div>
              <Stack error={data} />
              <Samples error={data} />
              <Runs error={data} />
            </div>
            <div>
              <Hours error={data} />
              <Sources error={data} />
            </div>
          </div>
        </>
      )}
    </article>
  );
}

interface Props {
  readonly error: ErrorDetail;
}

function Head({ error }: Props) {
  const { items, dialog } = useErrorActs(error);
  const { title, code, state, state_by, state_at, note, reopened_at } = error;
  return (
    <header className="event-head">
      <div className="page-head">
        <h1 className="id">{title}</h1>
        <div className="actions">
          {items.map(({ text, act, disabled }, index) => (
            <button
              key={text}
              className={index === 0 ? "primary" : ""}
              disabled={disabled}
              onClick={act}
            >
              {text}
            </button>
          ))}
          <CopyButton text={location.href} what="a link to this error" />
        </div>
      </div>
      <dl className="facts">
        <Fact name="State">
          <span className={`badge ${state}`}>{state}</span>
          {state !== "open" && state_at !== null && (
            <span className="quiet">
              {" "}
              <Age at={state_at} /> by {state_by ?? "unknown user"}
            </span>
          )}
          {state === "open" && reopened_at !== null && (
            <span className="quiet">
              {" "}
              came back <Age at={reopened_at} />
            </span>
          )}
        </Fact>
        {error.owner !== null && <Fact name="Assigned to">{error.owner}</Fact>}
        {(["failed", "pending"] as const).map((status) => (
          <Fact key={status} name={titleOf(status)}>
            <Link to={`/events?${writeFilter({ error: error.fingerprint, status })}`}>
              {countOf(error[status], "event")}
            </Link>
          </Fact>
        ))}
        <Fact name="Attempts">{formatCount(error.attempts)}</Fact>
        <Fact name="Last seen">
          <Age at={error.last_seen_at} />
        </Fact>
        <Fact name="First seen">
          <Age at={error.first_seen_at} />
        </Fact>
        <Fact name="Code">
          <code>{code}</code>
        </Fact>
      </dl>
      {note !== null && <p className="note">{note}</p>}
      {dialog}
    </header>
  );
}

/** Of the event that it failed last. */
function Stack({ error: { sample, fingerprint } }: Props) {
  const { source, event_id, generation } = sample;
  const { data } = useQuery(eventQuery(source, event_id, String(generation)));
  const attempt = data?.attempt_log.findLast((one) => one.fingerprint === fingerprint);
  if (attempt === undefined) return null;
  const stack = attempt.stack ?? [];
  const others = stack.filter((frame) => !frame.own);
  return (
    <Panel title="Stack">
      <pre className="error">{attempt.message}</pre>
      <Frames frames={stack.filter((frame) => frame.own)} />
      {others.length > 0 && (
        <details open={others.length === stack.length}>
          <summary>{countOf(others.length, "frame")} of packages</summary>
          <Frames frames={others} />
        </details>
      )}
    </Panel>
  );
}

function Hours({ error: { hours } }: Props) {
  const counts = hours.map(({ events }) => events);
  const sum = counts.reduce((total, events) => total + events, 0);
  const top = topOf(Math.max(0, ...counts));
  return (
    <Panel title="Last 24 hours">
      <div className="plots hours">
        <Plot
          title={`${countOf(sum, "event")} in the last 24 hours`}
          length={hours.length}
          top={top}
          textOf={formatCount}
        >
          <path className="failed" d={barPath(counts, [], top)} />
        </Plot>
        <TimeTicks from={hours[0]?.at} length={hours.length} seconds={3_600} />
      </div>
    </Panel>
  );
}

function Sources({ error: { sources, attempts, fingerprint } }: Props) {
  return (
    <Panel title="By source and type">
      <ul className="generations">
        {sources.map(({ source, type, attempts: here }) => (
          <li key={`${source} ${type}`}>
            <Link to={`/events?${writeFilter({ source, type, error: fingerprint })}`}>
              {source} {type}
            </Link>
            <span className="quiet end">
              {countOf(here, "attempt")} · {formatShare(here / attempts)}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

const SAMPLES = "5";

function Samples({ error: { fingerprint: error } }: Props) {
  const list = writeFilter({ error });
  const ask = () => ({ error, limit: SAMPLES });
  const { data } = useQuery(eventsQuery(`${list}&limit=${SAMPLES}`, ask, true));
  return (
    <Panel title="Events" tools={<Link to={`/events?${list}`}>Show all</Link>}>
      <RelatedEvents events={data?.events ?? []} />
    </Panel>
  );
}

function Runs({ error: { fingerprint } }: Props) {
  const { data } = useQuery(runsQuery());
  const runs = data?.runs.filter(({ filter }) => filter["error"] === fingerprint) ?? [];
  if (runs.length === 0) return null;
  return (
    <Panel title="Runs">
      <ul className="generations">
        {runs.map((run) => (
          <li key={run.id}>
            <Link to={`/runs/${run.id}`}>Run {run.id}</Link>
            <span className="quiet">
              {run.state}, {runResult(run)}
            </span>
            <Age at={run.created_at} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

import type { ErrorDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft } from "lucide-react";
import { Link, useParams } from "react-router";
import { errorQuery, eventQuery, eventsQuery, runsQuery } from "../api/queries.ts";
import { ErrorNote, PanelBoundary } from "../parts/error-note.tsx";
import { barPath, topOf } from "../overview/axes.ts";
import { Frames } from "../event/stack.tsx";
import { Fact } from "../parts/fact.tsx";
import { countOf, formatCount, formatShare } from "../parts/format.ts";
import { eventLink, writeFilter } from "../parts/list-filter.ts";
import { CopyButton } from "../parts/notice.tsx";
import { useTitle } from "../parts/page-head.tsx";
import { Age } from "../parts/time.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { runResult } from "@millrace/api-contract/run-text";
import { filterOf, useErrorActs } from "./error-actions.tsx";

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
              {[Stack, Samples, Runs].map((Panel) => (
                <PanelBoundary key={Panel.name}>
                  <Panel error={data} />
                </PanelBoundary>
              ))}
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
        {(["failed", "pending"] as const).map((status) => (
          <Fact key={status} name={status === "failed" ? "Failed" : "Pending"}>
            <Link to={`/events?${writeFilter(filterOf(error, undefined, status))}`}>
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
  const { data } = useQuery(eventQuery(sample.source, sample.event_id, String(sample.generation)));
  const attempt = data?.attempt_log.findLast((one) => one.fingerprint === fingerprint);
  if (attempt === undefined) return null;
  const stack = attempt.stack ?? [];
  const own = stack.filter((frame) => frame.own);
  const others = stack.filter((frame) => !frame.own);
  return (
    <section className="panel" aria-labelledby="stack">
      <h2 id="stack">Stack</h2>
      <pre className="error">{attempt.message}</pre>
      <Frames frames={own} />
      {others.length > 0 && (
        <details open={own.length === 0}>
          <summary>{countOf(others.length, "frame")} of packages</summary>
          <Frames frames={others} />
        </details>
      )}
    </section>
  );
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

function Hours({ error: { hours } }: Props) {
  const counts = hours.map(({ events }) => events);
  const top = topOf(Math.max(0, ...counts));
  return (
    <section className="panel" aria-labelledby="hours">
      <h2 id="hours">Last 24 hours</h2>
      <div className="plot hours">
        <div className="level" style={{ bottom: "100%" }}>
          <span>{formatCount(top)}</span>
        </div>
        <svg
          viewBox={`0 0 ${hours.length} 100`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${countOf(
            counts.reduce((sum, events) => sum + events, 0),
            "event",
          )} in the last 24 hours`}
        >
          {hours.map(({ at, events }, index) => (
            <path
              key={at}
              className="failed"
              d={barPath([events], [], top)}
              transform={`translate(${index} 0)`}
            >
              <title>{`${clock.format(Date.parse(at))}: ${countOf(events, "event")}`}</title>
            </path>
          ))}
        </svg>
      </div>
      <p className="quiet ends">
        <span>24 h ago</span> <span>now</span>
      </p>
    </section>
  );
}

function Sources({ error }: Props) {
  const { sources, attempts, fingerprint } = error;
  return (
    <section className="panel" aria-labelledby="sources">
      <h2 id="sources">By source and type</h2>
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
    </section>
  );
}

const SAMPLES = "5";

function Samples({ error: { fingerprint } }: Props) {
  const list = writeFilter({ error: fingerprint });
  const { data } = useQuery(
    eventsQuery(`${list}&samples`, () => ({ error: fingerprint, limit: SAMPLES }), true),
  );
  return (
    <section className="panel" aria-labelledby="samples">
      <div className="panel-head">
        <h2 id="samples">Events</h2>
        <Link to={`/events?${list}`}>Show all</Link>
      </div>
      <ul className="generations">
        {data?.events.map(({ source, event_id, generation, status, recorded_at }) => (
          <li key={`${source} ${event_id} ${generation}`}>
            <StatusBadge status={status} />
            <Link to={eventLink(source, event_id, generation)}>{event_id}</Link>
            <Age at={recorded_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Runs({ error: { fingerprint } }: Props) {
  const { data } = useQuery(runsQuery);
  const runs = data?.runs.filter(({ filter }) => filter["error"] === fingerprint) ?? [];
  if (runs.length === 0) return null;
  return (
    <section className="panel" aria-labelledby="runs">
      <h2 id="runs">Runs</h2>
      <ul className="generations">
        {runs.map((run) => (
          <li key={run.id}>
            <Link to={`/runs/${run.id}`}>Run {run.id}</Link>
            <span>{run.state}</span>
            <span className="quiet">{runResult(run)}</span>
            <Age at={run.created_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

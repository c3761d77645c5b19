import type { Attempt, EventDetail } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import {
  arrangeTimeline,
  type FoldedAttempts,
  type TimelineEntry,
} from "@millrace/api-contract/timeline";
import { Link } from "react-router";
import { countOf, personName } from "../parts/format.ts";
import { RelatedEvents } from "./related-events.tsx";
import { Frames, placeOf } from "./stack.tsx";
import { Due, ExactTime } from "../parts/time.tsx";

export function Timeline({ event }: { event: EventDetail }) {
  const { recent, total } = event.deliveries;
  const repeats = recent
    // It is null for the first one, which is "Received".
    .filter(({ ingress }) => ingress !== null)
    .map((delivery) => ({ kind: "delivery" as const, ...delivery }));
  const { before, after } = arrangeTimeline(event, repeats);
  return (
    <section aria-labelledby="timeline" className="panel">
      <h2 id="timeline">Timeline</h2>
      <ol className="timeline">
        {event.received_at !== null && (
          <li>
            <p className="step">
              Received{total > 1 && <span className="quiet"> · delivered {total} times</span>}
            </p>
            <ExactTime at={event.received_at} />
          </li>
        )}
        {event.stage === "recorded" && (
          <li>
            <p className="step">Recorded in the ledger</p>
            <ExactTime at={event.recorded_at} />
          </li>
        )}
        <Entries entries={before} />
        <Now event={event} />
        <Emitted event={event} />
        <Entries entries={after} />
      </ol>
    </section>
  );
}

type Repeat = EventDetail["deliveries"]["recent"][number] & { readonly kind: "delivery" };

function Entries({ entries }: { entries: readonly (TimelineEntry | Repeat)[] }) {
  return entries.map((entry, place) => {
    if (entry.kind === "delivery") return <Delivered key={`delivery ${place}`} repeat={entry} />;
    if (entry.kind === "act") return <Act key={`${entry.act.at} ${entry.act.action}`} {...entry} />;
    if (entry.kind === "step") return <Step key={`step ${entry.step.name}`} {...entry} />;
    return <FailedAttempts key={entry.attempts.first.attempt} attempts={entry.attempts} />;
  });
}

/** Counted about a second after it came. */
function Delivered({ repeat: { at, outcome, ingress } }: { repeat: Repeat }) {
  return (
    <li>
      <p className="step">
        Delivered again: {outcome}
        <span className="quiet"> · {ingress}</span>
      </p>
      <ExactTime at={at} />
    </li>
  );
}

/** In the transaction of the attempt that completed it. */
function Emitted({ event: { emitted } }: { event: EventDetail }) {
  const { total, events } = emitted;
  if (total === 0) return null;
  return (
    <li>
      <p className="step">
        Emitted {countOf(total, "event")}
        {total > events.length && <span className="quiet"> · the first {events.length}</span>}
      </p>
      <RelatedEvents events={events} />
    </li>
  );
}

function Act({ act }: { act: EventDetail["acts"][number] }) {
  const words = act.action.replace("_many", "").replaceAll("_", " ");
  return (
    <li className="act">
      <p className="step">
        {words.charAt(0).toUpperCase() + words.slice(1)} by {personName(act)}{" "}
        <span className="quiet">
          {act.run !== null && (
            <>
              in <Link to={`/runs/${act.run}`}>run {act.run}</Link>{" "}
            </>
          )}
          · {act.via}
        </span>
      </p>
      <ExactTime at={act.at} />
      {act.reason !== null && (
        <p>
          <q className="reason">{act.reason}</q>
        </p>
      )}
    </li>
  );
}

/** No later attempt runs it again. */
function Step({ step }: { step: EventDetail["steps"][number] }) {
  return (
    <li>
      <p className="step">
        Step <code>{step.name}</code> ended <span className="quiet">in attempt {step.attempt}</span>
      </p>
      <ExactTime at={step.at} />
    </li>
  );
}

/** Equal attempts as one entry with their number; the last one's stack and log stand for all. */
function FailedAttempts({ attempts: { first, last, all } }: { attempts: FoldedAttempts }) {
  if (all.length === 1) return <FailedAttempt attempt={first} />;
  const hasWaited = last.code === "retry_later";
  return (
    <li className={hasWaited ? "pending" : "failed"}>
      <p className="step">
        Attempts {first.attempt} to {last.attempt} {hasWaited ? "asked to wait" : "failed"}{" "}
        <code>{last.code}</code> ×{all.length}
        {!last.counted && <span className="quiet"> (do not count toward the limit)</span>}
      </p>
      <ExactTime at={first.finished_at} /> to <ExactTime at={last.finished_at} />
      <Failure attempt={last} />
      <details>
        <summary>Each of them</summary>
        <ol className="timeline">
          {all.map((attempt) => (
            <FailedAttempt key={attempt.attempt} attempt={attempt} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function FailedAttempt({ attempt }: { attempt: Attempt }) {
  const { started_at, finished_at } = attempt;
  const hasWaited = attempt.code === "retry_later";
  return (
    <li className={hasWaited ? "pending" : "failed"}>
      <p className="step">
        Attempt {attempt.attempt} {hasWaited ? "asked to wait" : "failed"}{" "}
        <code>{attempt.code}</code>
        {!attempt.counted && <span className="quiet"> (does not count toward the limit)</span>}
      </p>
      <ExactTime at={finished_at} />
      {started_at !== null && (
        <span className="quiet">
          {" "}
          · took {durationOf(Date.parse(finished_at) - Date.parse(started_at))}
        </span>
      )}
      <Failure attempt={attempt} />
    </li>
  );
}

function Failure({ attempt }: { attempt: Attempt }) {
  const { code, message } = attempt;
  return (
    <>
      {code === "retry_later" ? <p>{message}</p> : <pre className="error">{message}</pre>}
      <Stack attempt={attempt} />
      <Log attempt={attempt} />
    </>
  );
}

function Stack({ attempt: { stack } }: { attempt: Attempt }) {
  if (stack === null || stack.length === 0) return null;
  const own = stack.find((frame) => frame.own);
  return (
    <details>
      <summary>
        Stack{own !== undefined && <span className="quiet"> · {placeOf(own)}</span>}
      </summary>
      <Frames frames={stack} />
    </details>
  );
}

function Log({ attempt: { log, log_dropped } }: { attempt: Attempt }) {
  if (log === null || log.length === 0) return null;
  const dropped = log_dropped ?? 0;
  const lines = log.map(({ at, level, text }) => `${at.slice(11, 23)} ${level.padEnd(5)} ${text}`);
  return (
    <details>
      <summary>
        Log<span className="quiet"> · {countOf(log.length, "line")}</span>
      </summary>
      {dropped > 0 && <p className="quiet">{countOf(dropped, "earlier line")} left out</p>}
      <pre className="log">{lines.join("\n")}</pre>
    </details>
  );
}

function Now({ event }: { event: EventDetail }) {
  if (event.stage === "queued") {
    return (
      <li className={event.last_error === null ? "pending" : "failed"}>
        <p className="step">In the queue: {event.job_state}</p>
        {event.last_error !== null && <pre className="error">{event.last_error}</pre>}
      </li>
    );
  }
  const { status, attempts, processed_at, started_at, next_attempt_at } = event;
  if (next_attempt_at !== null) {
    const waits = event.last_error_code === "retry_later";
    return (
      <li className="pending">
        <p className="step">
          {waits ? "Waits, as its handler asked" : "Waits for its next attempt"}
        </p>
        <p>
          until <Due at={next_attempt_at} />
        </p>
        {waits && <p>{event.last_error}</p>}
      </li>
    );
  }
  if (status === "pending" || processed_at === null) {
    return (
      <li className="pending">
        <p className="step">Pending</p>
        <p className="quiet">
          {attempts === 0
            ? "No attempt has started yet"
            : `${countOf(attempts, "attempt")} so far; running now, or waiting for the next one`}
        </p>
      </li>
    );
  }
  const tookMs =
    started_at === null ? undefined : Date.parse(processed_at) - Date.parse(started_at);
  return (
    <li className={status}>
      <p className="step">
        {status === "completed" ? `Completed by attempt ${attempts}` : "Failed for good"}
        {event.outcome !== null && <span className="quiet"> {event.outcome}</span>}
      </p>
      <ExactTime at={processed_at} />
      {status === "completed" && tookMs !== undefined && (
        <span className="quiet"> · took {durationOf(tookMs)}</span>
      )}
      {status === "failed" && event.attempt_log.length === 0 && event.last_error !== null && (
        <pre className="error">{event.last_error}</pre>
      )}
    </li>
  );
}

import type { Attempt, EventDetail } from "@millrace/api-contract";
import { durationOf } from "@millrace/api-contract/run-text";
import {
  arrangeTimeline,
  type FoldedAttempts,
  type TimelineEntry,
} from "@millrace/api-contract/timeline";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { countOf, personName, titleOf } from "../parts/format.ts";
import { Panel } from "../parts/panel.tsx";
import { Due, ExactTime } from "../parts/time.tsx";
import { RelatedEvents } from "./event-panels.tsx";

export function Timeline({ event }: { event: EventDetail }) {
  const { recent, total } = event.deliveries;
  const repeats = recent
    // It is null for the first one, which is "Received".
    .filter(({ ingress }) => ingress !== null)
    .map((delivery) => ({ kind: "delivery" as const, ...delivery }));
  const { before, after } = arrangeTimeline(event, repeats);
  const often = total > 1 && <span className="quiet"> · delivered {total} times</span>;
  return (
    <Panel title="Timeline">
      <ol className="timeline">
        {event.received_at !== null && <Item title={<>Received{often}</>} at={event.received_at} />}
        {event.stage === "recorded" && (
          <Item title="Recorded in the ledger" at={event.recorded_at} />
        )}
        {before.map(toItem)}
        <Now event={event} />
        <Emitted event={event} />
        {after.map(toItem)}
      </ol>
    </Panel>
  );
}

interface ItemProps {
  readonly title: ReactNode;
  readonly at?: string;
  readonly kind?: string;
  readonly children?: ReactNode;
}

function Item({ title, at, kind, children }: ItemProps) {
  return (
    <li className={kind}>
      <p className="step">{title}</p>
      {at !== undefined && <ExactTime at={at} />}
      {children}
    </li>
  );
}

type Repeat = EventDetail["deliveries"]["recent"][number] & { readonly kind: "delivery" };

function toItem(entry: TimelineEntry | Repeat, place: number) {
  if (entry.kind === "attempts") return <FailedAttempts key={place} {...entry.attempts} />;
  if (entry.kind === "act") return <Act key={place} act={entry.act} />;
  if (entry.kind === "delivery") {
    const where = <span className="quiet"> · {entry.ingress}</span>;
    const title = [`Delivered again: ${entry.outcome}`, where];
    return <Item key={place} title={<>{title}</>} at={entry.at} />;
  }
  const { name, attempt, at } = entry.step;
  const title = (
    <>
      Step <code>{name}</code> ended <span className="quiet">in attempt {attempt}</span>
    </>
  );
  // No later attempt runs it again.
  return <Item key={place} title={title} at={at} />;
}

/** In the transaction of the attempt that completed it. */
function Emitted({ event: { emitted } }: { event: EventDetail }) {
  const { total, events } = emitted;
  const edited = events.filter((event) => event.edited);
  const byHandlers = total - edited.length;
  const more = total > events.length ? `, the first ${events.length}` : "";
  return (
    <>
      {byHandlers > 0 && (
        <Item title={`Emitted ${countOf(byHandlers, "event")}${more}`}>
          <RelatedEvents events={events.filter((event) => !event.edited)} />
        </Item>
      )}
      {edited.length > 0 && (
        <Item title="Edited and sent">
          <RelatedEvents events={edited} />
        </Item>
      )}
    </>
  );
}

function Act({ act }: { act: EventDetail["acts"][number] }) {
  const title = (
    <>
      {titleOf(act.action.replace("_many", ""))} by {personName(act)}{" "}
      <span className="quiet">
        {act.run !== null && (
          <>
            in <Link to={`/runs/${act.run}`}>run {act.run}</Link>{" "}
          </>
        )}
        · {act.via}
      </span>
    </>
  );
  return (
    <Item title={title} at={act.at}>
      {act.reason !== null && (
        <p>
          <q>{act.reason}</q>
        </p>
      )}
    </Item>
  );
}

/** Equal attempts as one entry with their number; the last one's stack and log stand for all. */
function FailedAttempts({ first, last, all }: FoldedAttempts) {
  const { code, message, counted, started_at, finished_at } = last;
  const hasWaited = code === "retry_later";
  const isOne = all.length === 1;
  const title = (
    <>
      {isOne ? `Attempt ${last.attempt}` : `Attempts ${first.attempt} to ${last.attempt}`}{" "}
      {hasWaited ? "asked to wait" : "failed"} <code>{code}</code> {!isOne && `×${all.length}`}
      {!counted && <span className="quiet"> (does not count toward the limit)</span>}
    </>
  );
  const tookMs = started_at === null ? undefined : Date.parse(finished_at) - Date.parse(started_at);
  return (
    <Item kind={hasWaited ? "pending" : "failed"} title={title} at={first.finished_at}>
      {isOne && tookMs !== undefined && <span className="quiet"> · took {durationOf(tookMs)}</span>}
      {!isOne && (
        <>
          {" to "}
          <ExactTime at={finished_at} />
        </>
      )}
      {hasWaited ? <p>{message}</p> : <pre className="error">{message}</pre>}
      <Stack attempt={last} />
      <Log attempt={last} />
      {!isOne && (
        <details>
          <summary>Each of them</summary>
          <ol className="timeline">
            {all.map((attempt) => (
              <FailedAttempts
                key={attempt.attempt}
                {...{ first: attempt, last: attempt, all: [attempt] }}
              />
            ))}
          </ol>
        </details>
      )}
    </Item>
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
  const { last_error: error, attempts } = event;
  const failure = error !== null && <pre className="error">{error}</pre>;
  if (event.stage === "queued") {
    return (
      <Item kind={error === null ? "pending" : "failed"} title={`In the queue: ${event.job_state}`}>
        {failure}
      </Item>
    );
  }
  const { status, outcome, processed_at, started_at, next_attempt_at } = event;
  if (next_attempt_at !== null) {
    const waits = event.last_error_code === "retry_later";
    const title = waits ? "Waits, as its handler asked" : "Waits for its next attempt";
    return (
      <Item kind="pending" title={title}>
        <p>
          due <Due at={next_attempt_at} />
        </p>
        {waits && <p>{error}</p>}
      </Item>
    );
  }
  if (status === "pending" || processed_at === null) {
    const text =
      attempts === 0
        ? "No attempt has started yet"
        : `${countOf(attempts, "attempt")} so far; running now, or waiting for the next one`;
    return (
      <Item kind="pending" title="Pending">
        <p className="quiet">{text}</p>
      </Item>
    );
  }
  const isCompleted = status === "completed";
  const title = (
    <>
      {isCompleted ? `Completed by attempt ${attempts}` : "Failed for good"}
      {outcome !== null && <span className="quiet"> {outcome}</span>}
    </>
  );
  return (
    <Item kind={status} title={title} at={processed_at}>
      {isCompleted && started_at !== null && (
        <span className="quiet">
          {" "}
          · took {durationOf(Date.parse(processed_at) - Date.parse(started_at))}
        </span>
      )}
      {!isCompleted && event.attempt_log.length === 0 && failure}
    </Item>
  );
}

type Frame = NonNullable<Attempt["stack"]>[number];

/** The innermost call first. */
export function Frames({ frames }: { frames: readonly Frame[] }) {
  return (
    <ol className="stack">
      {frames.map((frame, index) => (
        // oxlint-disable-next-line no-array-index-key -- frames of a recursion are equal
        <li key={index} className={frame.own ? "own" : "quiet"}>
          <code>
            {frame.function !== null && `${frame.function} `}
            {placeOf(frame)}
          </code>
        </li>
      ))}
    </ol>
  );
}

function placeOf({ file, line, column }: Frame): string {
  return [file, line, column].filter((part) => part !== null).join(":");
}

import type { EventDetail } from "@millrace/api-contract";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { writeFilter } from "../events/list-filter.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { RunAgain } from "./run-again.tsx";

/** Who the event is, where it stands, and what can be done with it. */
export function EventHead({ event }: { event: EventDetail }) {
  const { source, type } = event;
  return (
    <header className="event-head">
      <div className="event-title">
        <h1>{event.event_id}</h1>
        <CopyButton text={event.event_id} what="the id" />
      </div>
      <dl className="facts">
        <Fact name="Status">
          <StatusBadge status={event.status ?? "queued"} />
          {event.outcome !== null && <span className="quiet"> {event.outcome}</span>}
        </Fact>
        <Fact name="Source">
          <Link to={`/?${writeFilter({ source })}`}>{source}</Link>
        </Fact>
        <Fact name="Type">
          {type === null ? "–" : <Link to={`/?${writeFilter({ source, type })}`}>{type}</Link>}
        </Fact>
        <Fact name="Generation">{event.generation}</Fact>
        <Fact name="Attempts">{event.attempts}</Fact>
        {event.stage === "queued" && (
          <Fact name="Job">
            {event.job_state} <code>{event.job_id}</code>
          </Fact>
        )}
        {event.stage === "recorded" && event.unsigned && (
          <Fact name="Signed">only the body, not the ID</Fact>
        )}
      </dl>
      {event.stage === "queued" && (
        <p className="note">
          This event is still only in its queue: no worker has recorded it yet. The state of its job
          is <strong>{event.job_state}</strong>.
        </p>
      )}
      <RunAgain event={event} />
    </header>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

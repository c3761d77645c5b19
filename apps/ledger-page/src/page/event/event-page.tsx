import type { EventDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import { eventQuery } from "../api/queries.ts";
import { ApiError } from "../api/request.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ErrorNote, PanelBoundary } from "../parts/error-note.tsx";
import { writeFilter } from "../parts/list-filter.ts";
import { CopyButton } from "../parts/notice.tsx";
import { useTitle } from "../parts/use-title.ts";
import { Conflicts, Deliveries, EventAudit, Headers } from "./event-panels.tsx";
import { Payload } from "./payload.tsx";
import { Chain, Generations, SameMessage } from "./related-events.tsx";
import { RunAgain } from "./run-again.tsx";
import { Timeline } from "./timeline.tsx";

export function EventPage() {
  const [query] = useSearchParams();
  const source = query.get("source") ?? "";
  const id = query.get("id") ?? "";
  useTitle(id === "" ? "Event" : id);
  const event = useQuery(eventQuery(source, id, query.get("generation") ?? undefined));
  return (
    <article className="event">
      <p className="back">
        <Link to="/">← Ledger</Link>
      </p>
      {event.error && <ErrorNote error={event.error} onRetry={() => void event.refetch()} />}
      {event.data === undefined ? (
        isUnknown(event.error) && unknownEvent(source, id)
      ) : (
        <>
          <EventHead event={event.data} />
          <div className="event-parts">
            <Column panels={LEFT} event={event.data} />
            <Column panels={RIGHT} event={event.data} />
          </div>
        </>
      )}
      {event.isPending && <p className="quiet">Reading the event…</p>}
    </article>
  );
}

type Panel = (props: { event: EventDetail }) => ReactNode;

const LEFT: readonly Panel[] = [
  Timeline,
  Deliveries,
  Generations,
  SameMessage,
  Chain,
  Conflicts,
  EventAudit,
];
const RIGHT: readonly Panel[] = [Payload, Headers];

function Column({ panels, event }: { panels: readonly Panel[]; event: EventDetail }) {
  return (
    <div>
      {panels.map((Panel, place) => (
        <PanelBoundary key={place}>
          <Panel event={event} />
        </PanelBoundary>
      ))}
    </div>
  );
}

function unknownEvent(source: string, id: string) {
  return (
    <div className="empty">
      <h1>Event not found</h1>
      <p>
        Neither the ledger nor the queue of <code>{source}</code> has <code>{id}</code>. Enter the
        complete ID; it is case-sensitive. Completed events are kept for 90 days by default.
      </p>
    </div>
  );
}

const isUnknown = (error: Error | null): boolean =>
  error instanceof ApiError && error.code === "event_not_found";

function EventHead({ event }: { event: EventDetail }) {
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
        {event.authenticated_only ? (
          <Fact name="Deliveries">authenticated only, not verified</Fact>
        ) : (
          event.unsigned && <Fact name="Signed">only the body, not the ID</Fact>
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

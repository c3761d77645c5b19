import type { EventDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import { ChevronDown, ChevronLeft, ChevronUp } from "lucide-react";
import { Link, useLocation, useNavigate, useSearchParams } from "react-router";
import { eventQuery } from "../api/queries.ts";
import { ApiError } from "../api/request.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { ErrorNote, PanelBoundary } from "../parts/notice.tsx";
import { eventLink, searchTerm, writeFilter, type ListState } from "../parts/list-filter.ts";
import { Fact, useTitle } from "../parts/panel.tsx";
import { useShortcuts } from "../parts/shortcuts.ts";
import { Conflicts, EventAudit, Generations, Headers, SameMessage } from "./event-panels.tsx";
import { Payload } from "./payload.tsx";
import { RunAgain } from "./run-again.tsx";
import { Timeline } from "./timeline.tsx";

export function EventPage() {
  const [query] = useSearchParams();
  const source = query.get("source") ?? "";
  const id = query.get("id") ?? "";
  const generation = query.get("generation") ?? undefined;
  useTitle(id === "" ? "Event" : id);
  const event = useQuery(eventQuery(source, id, generation));
  const isUnknown = event.error instanceof ApiError && event.error.code === "event_not_found";
  return (
    <article className="list">
      <Neighbors here={`/event?${query}`} />
      {event.error && <ErrorNote error={event.error} onRetry={() => void event.refetch()} />}
      {event.data === undefined ? (
        isUnknown && unknownEvent(source, id)
      ) : (
        // Another event, or generation, begins with its own first state.
        <Fragment key={eventLink(event.data)}>
          <EventHead event={event.data} />
          <div className="event-parts">
            <Column panels={LEFT} event={event.data} />
            <Column panels={RIGHT} event={event.data} />
          </div>
        </Fragment>
      )}
      {event.isPending && <p className="quiet">Reading the event…</p>}
    </article>
  );
}

/** The way back to the list, and on to its other events: `j` and `k` as there. */
function Neighbors({ here }: { here: string }) {
  const navigate = useNavigate();
  const { state } = useLocation();
  const { list, back } = readState(state);
  const at = list.indexOf(here);
  const [previous, next] = [list[at - 1], at < 0 ? undefined : list[at + 1]];
  const go = (to: string | undefined) => {
    if (to !== undefined) void navigate(to, { state, replace: true });
  };
  useShortcuts({ j: () => go(next), k: () => go(previous) });
  return (
    <div className="back">
      <Link to={`/events${back}`}>
        <ChevronLeft /> Events
      </Link>
      {at >= 0 && (
        <span className="actions">
          <span className="quiet">
            {at + 1} of {list.length}
          </span>
          <button className="icon" disabled={previous === undefined} onClick={() => go(previous)}>
            <ChevronUp aria-label="Previous event" />
          </button>
          <button className="icon" disabled={next === undefined} onClick={() => go(next)}>
            <ChevronDown aria-label="Next event" />
          </button>
        </span>
      )}
    </div>
  );
}

/** The list that led here; none after a link from elsewhere. */
function readState(state: unknown): ListState {
  const { list, back } = (state ?? {}) as Partial<ListState>;
  return { list: Array.isArray(list) ? list : [], back: typeof back === "string" ? back : "" };
}

type Panel = (props: { event: EventDetail }) => ReactNode;

const LEFT: readonly Panel[] = [Timeline, Generations, SameMessage, Conflicts, EventAudit];
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

function EventHead({ event }: { event: EventDetail }) {
  return (
    <header className="event-head">
      <div className="page-head">
        <h1 className="id">{event.event_id}</h1>
        <RunAgain event={event} />
      </div>
      <EventFacts event={event} />
      {event.stage === "queued" && (
        <p className="note">
          This event is still only in its queue: no worker has recorded it yet. The state of its job
          is <strong>{event.job_state}</strong>.
        </p>
      )}
    </header>
  );
}

export function EventFacts({ event }: { event: EventDetail }) {
  const { source, type, emitted_by: parent } = event;
  return (
    <dl className="facts">
      <Fact name="Status">
        <StatusBadge status={event.status ?? "queued"} />
        {event.outcome !== null && <span className="quiet"> {event.outcome}</span>}
      </Fact>
      <Fact name="Source">
        <Link to={`/events?${writeFilter({ source })}`}>{source}</Link>
      </Fact>
      <Fact name="Type">
        {type === null ? "–" : <Link to={`/events?${writeFilter({ source, type })}`}>{type}</Link>}
      </Fact>
      <Fact name="Generation">{event.generation}</Fact>
      <Fact name="Attempts">{event.attempts}</Fact>
      {event.find.map((text) => {
        const [label = "", value = ""] = text.split(/: (.*)/s);
        const query = new URLSearchParams({ find: searchTerm(label, value) });
        return (
          <Fact key={text} name={label}>
            <Link to={`/events?${query}`}>{value}</Link>
          </Fact>
        );
      })}
      {parent !== null && (
        <Fact name={event.edited ? "Edited from" : "Emitted by"}>
          <Link to={eventLink(parent)}>
            {parent.source}: {parent.event_id}
            {parent.generation > 0 && `, replay ${parent.generation}`}
          </Link>
        </Fact>
      )}
      {event.stage === "queued" && (
        <Fact name="Job">
          {event.job_state} <code>{event.job_id}</code>
        </Fact>
      )}
      {event.edited && <Fact name="Sender">not from the sender: edited on the dashboard</Fact>}
      {event.authenticated_only ? (
        <Fact name="Deliveries">authenticated only, not verified</Fact>
      ) : (
        event.unsigned && <Fact name="Signed">only the body, not the ID</Fact>
      )}
    </dl>
  );
}

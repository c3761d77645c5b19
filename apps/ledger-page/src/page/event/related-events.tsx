import type { EventDetail } from "@millrace/api-contract";
import { Link } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf } from "../parts/format.ts";
import { eventLink } from "../parts/list-filter.ts";
import { Panel } from "../parts/panel.tsx";
import { Age } from "../parts/time.tsx";

export function Generations({ event }: { event: EventDetail }) {
  const { source, event_id, generations } = event;
  if (generations.length < 2) return null;
  const newestFirst = generations.toSorted((a, b) => b.generation - a.generation);
  return (
    <Panel title="Generations">
      <ul className="generations">
        {newestFirst.map((run) => (
          <li key={run.generation}>
            <Link
              to={eventLink(source, event_id, run.generation)}
              aria-current={run.generation === event.generation ? "true" : undefined}
            >
              {run.generation === 0 ? "0 (as received)" : `${run.generation} (replay)`}
            </Link>
            <StatusBadge status={run.status} />
            <span className="quiet">{countOf(run.attempts, "attempt")}</span>
            <Age at={run.recorded_at} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** The sender signs the message without its ID. */
export function SameMessage({ event: { source, same_message } }: { event: EventDetail }) {
  const { total, events } = same_message;
  if (total === 0) return null;
  return (
    <Panel title="Same signed message">
      <p className="quiet">
        {countOf(total, "other event")} came with what was signed here, under another ID that the
        sender did not sign.{total > events.length && ` The first ${events.length}:`}
      </p>
      <RelatedEvents events={events.map((event) => ({ ...event, source }))} />
    </Panel>
  );
}

type Related = Omit<EventDetail["emitted"]["events"][number], "outcome"> & {
  readonly outcome?: string | null;
  readonly generation?: number;
};

export function RelatedEvents({ events }: { events: readonly Related[] }) {
  return (
    <ul className="generations">
      {events.map(({ source, event_id, type, status, generation = 0, ...event }) => (
        <li key={`${source} ${event_id} ${generation}`}>
          <StatusBadge status={status} />
          <Link to={eventLink(source, event_id, generation)}>{event_id}</Link>
          <Age at={event.recorded_at} />
          <span className="quiet reason">
            {source} {type} {event.outcome ?? (status === "failed" ? event.last_error_code : null)}
          </span>
        </li>
      ))}
    </ul>
  );
}

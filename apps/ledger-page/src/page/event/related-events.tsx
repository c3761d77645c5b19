import type { EventDetail } from "@millrace/api-contract";
import { Link } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf } from "../parts/format.ts";
import { eventLink } from "../parts/list-filter.ts";
import { Time } from "../parts/time.tsx";

export function Generations({ event }: { event: EventDetail }) {
  const { source, event_id, generations } = event;
  if (generations.length < 2) return null;
  const newestFirst = generations.toSorted((a, b) => b.generation - a.generation);
  return (
    <section aria-labelledby="generations" className="panel">
      <h2 id="generations">Generations</h2>
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
            <Time at={run.recorded_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The sender signs the message without its ID. */
export function SameMessage({ event }: { event: EventDetail }) {
  const { source, same_message } = event;
  const { total, events } = same_message;
  if (total === 0) return null;
  return (
    <section aria-labelledby="same-message" className="panel">
      <h2 id="same-message">Same signed message</h2>
      <p className="quiet">
        {countOf(total, "other event")} came with what was signed here, under another ID that the
        sender did not sign.{total > events.length && ` The first ${events.length}:`}
      </p>
      <ul className="generations">
        {events.map((other) => (
          <li key={other.event_id}>
            <Link to={eventLink(source, other.event_id, 0)}>{other.event_id}</Link>
            <StatusBadge status={other.status} />
            <span className="quiet">
              {[other.type, noteOf(other)].filter((part) => part !== null).join(", ")}
            </span>
            <Time at={other.recorded_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Chain({ event: { emitted_by, emitted } }: { event: EventDetail }) {
  const { total, events } = emitted;
  return (
    <>
      {emitted_by !== null && (
        <section aria-labelledby="emitted-by" className="panel">
          <h2 id="emitted-by">Emitted by</h2>
          <p>
            <Link to={eventLink(emitted_by.source, emitted_by.event_id, emitted_by.generation)}>
              {emitted_by.event_id}
            </Link>
            <span className="quiet">
              {" "}
              of {emitted_by.source}
              {emitted_by.generation > 0 && `, replay ${emitted_by.generation}`}
            </span>
          </p>
        </section>
      )}
      {total > 0 && (
        <section aria-labelledby="emitted" className="panel">
          <h2 id="emitted">Emitted</h2>
          <p className="quiet">
            {countOf(total, "event")} of this event&rsquo;s handlers.
            {total > events.length && ` The first ${events.length}:`}
          </p>
          <ul className="generations">
            {events.map((child) => (
              <li key={`${child.source} ${child.event_id}`}>
                <Link to={eventLink(child.source, child.event_id, 0)}>
                  {child.source}: {child.type}
                </Link>
                <StatusBadge status={child.status} />
                <span className="quiet">{noteOf(child)}</span>
                <Time at={child.recorded_at} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

type Related = EventDetail["emitted" | "same_message"]["events"][number];

const noteOf = ({ outcome, last_error_code, status }: Related): string | null =>
  outcome ?? (status === "failed" ? last_error_code : null);

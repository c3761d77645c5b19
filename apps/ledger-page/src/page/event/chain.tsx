import type { EventDetail } from "@millrace/api-contract";
import { Link } from "react-router";
import { eventLink } from "../events/list-filter.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf } from "../parts/count.ts";
import { Time } from "../parts/time.tsx";

/** The event whose handler emitted this one, and the events that its own handlers emitted. */
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

function noteOf({ outcome, last_error_code, status }: EventDetail["emitted"]["events"][number]) {
  return outcome ?? (status === "failed" ? last_error_code : null) ?? "";
}

import type { EventDetail } from "@millrace/api-contract";
import { Link } from "react-router";
import { eventLink } from "../events/list-filter.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf } from "../parts/count.ts";
import { Time } from "../parts/time.tsx";

/** Other events whose signed message is the same, where the sender does not sign the id. */
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
              {other.type}
              {noteOf(other)}
            </span>
            <Time at={other.recorded_at} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function noteOf({
  outcome,
  last_error_code,
  status,
}: EventDetail["same_message"]["events"][number]) {
  const note = outcome ?? (status === "failed" ? last_error_code : null);
  return note === null ? null : `, ${note}`;
}

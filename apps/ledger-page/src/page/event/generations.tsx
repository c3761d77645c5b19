import type { EventDetail } from "@millrace/api-contract";
import { Link } from "react-router";
import { eventLink } from "../events/list-filter.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf } from "../parts/count.ts";
import { Time } from "../parts/time.tsx";

/** The event as it was received, and each replay of it. */
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

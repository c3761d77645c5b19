import type { EventDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { auditQuery } from "../api/queries.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { Time } from "../parts/time.tsx";

/** Who ran this event again and why, and who read its body. */
export function EventAudit({ event: { source, event_id } }: { event: EventDetail }) {
  const { data, error } = useQuery(auditQuery({ source, event_id, limit: "20" }));
  const entries = data?.entries ?? [];
  if (error === null && entries.length === 0) return null;
  return (
    <section aria-labelledby="audit" className="panel">
      <div className="panel-head">
        <h2 id="audit">Audit</h2>
        {typeof data?.next === "string" && (
          <Link to={`/audit?${new URLSearchParams({ source, event_id })}`}>View full audit</Link>
        )}
      </div>
      {error && <ErrorNote error={error} />}
      <ul className="generations">
        {entries.map((entry) => (
          <li key={entry.id}>
            <strong>{entry.action.replaceAll("_", " ")}</strong>
            <span>
              by {entry.actor ?? "unknown user"} <span className="quiet">· {entry.via}</span>
            </span>
            <Time at={entry.at} />
            {entry.reason !== null && <q className="reason">{entry.reason}</q>}
          </li>
        ))}
      </ul>
    </section>
  );
}

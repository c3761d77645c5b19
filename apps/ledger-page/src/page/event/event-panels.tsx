import type { EventDetail } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "react-router";
import { auditQuery } from "../api/queries.ts";
import { bodyHref } from "../api/request.ts";
import { StatusBadge } from "../parts/badge.tsx";
import { countOf, personName } from "../parts/format.ts";
import { eventLink, searchTerm } from "../parts/list-filter.ts";
import { CopyButton, ErrorNote } from "../parts/notice.tsx";
import { Fact, Panel } from "../parts/panel.tsx";
import { Age } from "../parts/time.tsx";
import { useMayWrite } from "../session/session.ts";
import { RunAgainDialog } from "./run-again.tsx";

export function Conflicts({ event }: { event: EventDetail }) {
  const { conflicts } = event;
  const [run, setRun] = useState<string>();
  const mayWrite = useMayWrite();
  if (conflicts.length === 0) return null;
  const isSettled = event.status === "failed" || event.status === "completed";
  const mayRun = mayWrite && isSettled;
  return (
    <Panel title="Different bodies with this ID">
      <p className="quiet">
        The first body is processed. These came later, were answered as duplicates, and did not run.
      </p>
      <ul className="generations">
        {conflicts.map((conflict) => (
          <li key={conflict.body_hash}>
            <code>{conflict.body_hash}</code>
            <span>received {countOf(conflict.deliveries, "time")}</span>
            <Age at={conflict.last_seen_at} />
            {conflict.kept ? (
              <>
                <a href={bodyHref(event, { body_hash: conflict.body_hash })}>Download body</a>
                {mayRun && <button onClick={() => setRun(conflict.body_hash)}>Run it…</button>}
              </>
            ) : (
              <span className="quiet">body not kept</span>
            )}
          </li>
        ))}
      </ul>
      {run !== undefined && (
        <RunAgainDialog
          verb="replay"
          bodyHash={run}
          event={event}
          onClose={() => setRun(undefined)}
        />
      )}
    </Panel>
  );
}

export function EventAudit({ event: { source, event_id } }: { event: EventDetail }) {
  const { data, error } = useQuery(auditQuery({ source, event_id, limit: "20" }));
  const entries = data?.entries ?? [];
  if (error === null && entries.length === 0) return null;
  return (
    <Panel
      title="Audit"
      tools={
        <Link to={`/audit?${new URLSearchParams({ source, find: searchTerm("event", event_id) })}`}>
          View full audit
        </Link>
      }
    >
      {error && <ErrorNote error={error} />}
      <ul className="generations">
        {entries.map((entry) => (
          <li key={entry.id}>
            <strong>{entry.action.replaceAll("_", " ")}</strong>
            <span>
              by {personName(entry)} <span className="quiet">· {entry.via}</span>
            </span>
            <Age at={entry.at} />
            {entry.reason !== null && <q className="reason">{entry.reason}</q>}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

export function Headers({ event: { headers } }: { event: EventDetail }) {
  const given = Object.entries(headers);
  const text = given.map(([name, value]) => `${name}: ${value}`).join("\n");
  return (
    <Panel
      title="Headers"
      tools={given.length > 0 && <CopyButton text={text} what="the headers" />}
    >
      {given.length === 0 ? (
        <p className="quiet">No headers are kept for this provider. Signatures are never kept.</p>
      ) : (
        <dl className="headers">
          {given.map(([name, value]) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </dl>
      )}
    </Panel>
  );
}

export function Generations({ event }: { event: EventDetail }) {
  if (event.generations.length < 2) return null;
  return (
    <Panel title="Generations">
      <ul className="generations">
        {event.generations.map((run) => (
          <li key={run.generation}>
            <Link
              to={eventLink({ ...event, generation: run.generation })}
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
          <Link to={eventLink({ source, event_id, generation })}>{event_id}</Link>
          <Age at={event.recorded_at} />
          <span className="quiet reason">
            {source} {type} {event.outcome ?? (status === "failed" ? event.last_error_code : null)}
          </span>
        </li>
      ))}
    </ul>
  );
}

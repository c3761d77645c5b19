import type { AuditEntry } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { auditQuery } from "../api/queries.ts";
import { DataTable, Pager, type Column } from "../parts/data-table.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { Filters, SourceFilter, TextFilter, useUrlFields } from "../parts/filters.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/use-title.ts";

export function AuditPage() {
  useTitle("Audit");
  const { given, change } = useUrlFields("cursor");
  const [source, eventId, cursor] = [given("source"), given("event_id"), given("cursor")];
  const audit = useQuery(auditQuery({ limit: "50", cursor, source, event_id: eventId }));
  const { data, error } = audit;
  const next = audit.isPlaceholderData ? null : (data?.next ?? null);
  return (
    <section className="list">
      <h1>Audit</h1>
      <p className="quiet">
        What people and programs did to events and sources, who signed in or failed to, and who read
        a body, newest first.
      </p>
      <Filters label="Audit">
        <SourceFilter value={source} onChange={(value) => change("source", value)} />
        <TextFilter
          label="Event ID"
          placeholder="evt_1"
          value={eventId ?? ""}
          onChange={(value, replace) => change("event_id", value, replace)}
        />
      </Filters>
      {error && <ErrorNote error={error} onRetry={() => void audit.refetch()} />}
      {data?.entries.length === 0 && (
        <div className="empty">
          <h2>No entries yet</h2>
          <p>
            Every retry, replay, pause, and resume is recorded here, with who did it and why, and
            every sign-in and reading of a body.
          </p>
        </div>
      )}
      <DataTable caption="Audit" columns={columns} rows={data?.entries} keyOf={({ id }) => id} />
      <Pager
        steps={{
          Newest: cursor !== undefined && (() => change("cursor", "")),
          "Older →": next !== null && (() => change("cursor", next)),
        }}
      />
    </section>
  );
}

const columns: Column<AuditEntry>[] = [
  { id: "when", header: "When", cell: (entry) => <Time at={entry.at} /> },
  { id: "who", header: "Actor", cell: (entry) => <Actor entry={entry} /> },
  { id: "action", header: "Action", cell: (entry) => entry.action.replaceAll("_", " ") },
  { id: "target", header: "Target", cell: (entry) => <Target entry={entry} /> },
  { id: "reason", header: "Reason", cell: (entry) => entry.reason },
  { id: "result", header: "Result", cell: (entry) => factsOf(entry.result) },
];

function Actor({ entry }: { entry: AuditEntry }) {
  return (
    <>
      {entry.actor ?? "unknown user"} <span className="quiet">· {entry.via}</span>
    </>
  );
}

function Target({ entry }: { entry: AuditEntry }) {
  const { source, event_id, generation, filter } = entry;
  if (source !== null && event_id !== null) {
    return (
      <Link to={eventLink(source, event_id, generation ?? undefined)}>
        {source} / {event_id}
      </Link>
    );
  }
  if (source !== null) return source;
  return filter === null ? null : (factsOf(filter) ?? "all events");
}

function factsOf(object: Readonly<Record<string, unknown>> | null) {
  const facts = Object.entries(object ?? {}).filter(([, value]) => !isEmpty(value));
  if (facts.length === 0) return null;
  const texts = facts.map(
    ([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  return <span className="facts">{texts.join(", ")}</span>;
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (typeof value === "object" && Object.keys(value).length === 0);

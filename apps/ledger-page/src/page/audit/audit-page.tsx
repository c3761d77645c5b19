import type { AuditEntry } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearchParams } from "react-router";
import { auditQuery, statsQuery } from "../api/queries.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { ErrorNote } from "../parts/error-note.tsx";
import { SelectField, TextFilter } from "../parts/filters.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { Time } from "../parts/time.tsx";
import { useTitle } from "../parts/use-title.ts";

/** Who did what to which events, newest first. */
export function AuditPage() {
  useTitle("Audit");
  const view = useAuditView();
  const { source, eventId, cursor } = view;
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
      <AuditFilters view={view} />
      {error && <ErrorNote error={error} onRetry={() => void audit.refetch()} />}
      {data !== undefined && data.entries.length === 0 && (
        <div className="empty">
          <h2>No entries yet</h2>
          <p>
            Every retry, replay, pause, and resume is recorded here, with who did it and why, and
            every sign-in and reading of a body.
          </p>
        </div>
      )}
      {data !== undefined && data.entries.length > 0 && <AuditTable entries={data.entries} />}
      <nav className="pager" aria-label="Pages">
        <button onClick={() => view.change("cursor", "")} disabled={cursor === undefined}>
          Newest
        </button>
        <button onClick={() => view.change("cursor", next ?? "")} disabled={next === null}>
          Older →
        </button>
      </nav>
    </section>
  );
}

/** The filter of the audit in the URL. */
interface AuditView {
  readonly source: string | undefined;
  readonly eventId: string | undefined;
  /** Undefined on the first page, the newest. */
  readonly cursor: string | undefined;
  /** Changes one part of it; another source or event begins at the first page. */
  change(key: "source" | "event_id" | "cursor", value: string, replace?: boolean): void;
}

/** Reads the view from the URL, and writes it there. */
function useAuditView(): AuditView {
  const [query, setQuery] = useSearchParams();
  const given = (key: string) => query.get(key) ?? undefined;
  return {
    source: given("source"),
    eventId: given("event_id"),
    cursor: given("cursor"),
    change: (key, value, replace = false) => {
      const next = new URLSearchParams(query);
      next.delete("cursor");
      if (value === "") next.delete(key);
      else next.set(key, value);
      setQuery(next, { replace });
    },
  };
}

/** The fields that narrow the audit. Their values live in the URL. */
function AuditFilters({ view }: { view: AuditView }) {
  const stats = useQuery(statsQuery);
  return (
    <form
      role="search"
      aria-label="Audit"
      className="filters"
      onSubmit={(event) => event.preventDefault()}
    >
      <SelectField
        label="Source"
        value={view.source}
        any="All sources"
        options={Object.keys(stats.data?.sources ?? {})}
        onChange={(value) => view.change("source", value)}
      />
      <TextFilter
        label="Event ID"
        placeholder="evt_1"
        value={view.eventId ?? ""}
        onChange={(value, replace) => view.change("event_id", value, replace)}
      />
    </form>
  );
}

const columns: Column<AuditEntry>[] = [
  { id: "when", header: "When", cell: ({ row }) => <Time at={row.original.at} /> },
  { id: "who", header: "Actor", cell: ({ row }) => <Actor entry={row.original} /> },
  { id: "action", header: "Action", cell: ({ row }) => row.original.action.replaceAll("_", " ") },
  { id: "target", header: "Target", cell: ({ row }) => <Target entry={row.original} /> },
  { id: "reason", header: "Reason", cell: ({ row }) => row.original.reason },
  { id: "result", header: "Result", cell: ({ row }) => factsOf(row.original.result) },
];

/** Entries of the audit, newest first. */
function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <div className="scroll">
      <DataTable caption="Audit" columns={columns} rows={[...entries]} keyOf={({ id }) => id} />
    </div>
  );
}

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

/** An object's fields, in a line. */
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

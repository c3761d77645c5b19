import { useQuery } from "@tanstack/react-query";
import { auditQuery } from "../api/queries.ts";
import { ErrorNote } from "../parts/error-note.tsx";
import { useTitle } from "../parts/use-title.ts";
import { AuditFilters } from "./audit-filters.tsx";
import { AuditTable } from "./audit-table.tsx";
import { useAuditView } from "./use-audit-view.ts";

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

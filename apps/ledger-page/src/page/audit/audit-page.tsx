import type { AuditEntry } from "@millrace/api-contract";
import { useQuery } from "@tanstack/react-query";
import { Link } from "react-router";
import { auditQuery } from "../api/queries.ts";
import { DataTable, Pager, type Column } from "../parts/data-table.tsx";
import { ErrorNote } from "../parts/notice.tsx";
import { Filters, SelectField, SourceFilter, TextFilter, useUrlFields } from "../parts/filters.tsx";
import { personName, titleOf } from "../parts/format.ts";
import { eventLink } from "../parts/list-filter.ts";
import { PageHead } from "../parts/panel.tsx";
import { Age } from "../parts/time.tsx";
import { FilterText } from "../runs/bulk-dialog.tsx";

export function AuditPage() {
  const { given, change, field } = useUrlFields("cursor");
  const cursor = given("cursor");
  const filter = [given("source"), given("action"), given("find")];
  const [source, action, find] = filter;
  const audit = useQuery(auditQuery({ limit: "50", cursor, source, action, find }));
  const { data, error } = audit;
  const next = audit.isPlaceholderData ? null : (data?.next ?? null);
  return (
    <section className="list">
      <PageHead
        title="Audit"
        about="What people and programs did to events and sources, who signed in or failed to, and who read a body."
      />
      <Filters label="Audit">
        <SelectField
          label="Action"
          any="All actions"
          options={ACTIONS}
          textOf={titleOf}
          {...field("action")}
        />
        <SourceFilter {...field("source")} />
        <TextFilter label="Search" placeholder="by:ops event:evt_1 since:7d" {...field("find")} />
      </Filters>
      {error && <ErrorNote error={error} onRetry={() => void audit.refetch()} />}
      {data?.entries.length === 0 && (
        <div className="empty">
          <h2>{emptyTitle({ isFiltered: filter.some((value) => value !== undefined), next })}</h2>
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

function emptyTitle({ isFiltered, next }: { isFiltered: boolean; next: string | null }): string {
  if (next !== null) return "No entry matches so far. Search on: Older →";
  return isFiltered ? "No matching entries" : "No entries yet";
}

const ACTIONS = [
  ...["retry", "replay", "give_up", "edit", "retry_many", "replay_many", "give_up_many"],
  ...["pause", "resume", "promote", "promote_many", "set_error_state", "bulk_run"],
  ...["read_body", "sign_in", "sign_in_failed", "end_session"],
];

const columns: Column<AuditEntry>[] = [
  { id: "action", header: "What", cell: ({ action }) => titleOf(action) },
  { id: "target", header: "On what", cell: (entry) => <Target entry={entry} /> },
  {
    id: "who",
    header: "By",
    cell: (entry) => (
      <>
        {personName(entry)} {entry.via !== "local" && <span className="quiet">{entry.via}</span>}
      </>
    ),
  },
  { id: "reason", header: "Why", cell: ({ reason }) => reason },
  { id: "result", header: "Result", cell: ({ result }) => <Result result={result} /> },
  { id: "when", header: "When", cell: (entry) => <Age at={entry.at} /> },
];

function Target({ entry }: { entry: AuditEntry }) {
  const { source, event_id, generation, filter } = entry;
  if (source !== null && event_id !== null) {
    return (
      <Link to={eventLink({ source, event_id, generation })}>
        {source} / {event_id}
      </Link>
    );
  }
  if (filter === null) return source;
  return <FilterText filter={{ ...(source !== null && { source }), ...filter }} />;
}

function Result({ result }: Pick<AuditEntry, "result">) {
  const { run, ...facts } = result ?? {};
  return (
    <span className="quiet">
      {typeof run === "number" && <Link to={`/runs/${run}`}>run {run}</Link>} {textOf(facts)}
    </span>
  );
}

/** `shown, bytes: 74`: what is only true needs no value. */
function textOf(facts: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(facts).flatMap(([key, value]) => {
    if (["null", "{}", "[]", undefined].includes(JSON.stringify(value))) return [];
    if (value === true) return key;
    return `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return texts.join(", ");
}

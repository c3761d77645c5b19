import type { AuditEntry } from "@millrace/api-contract";
import { Link } from "react-router";
import { eventLink } from "../events/list-filter.ts";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { Time } from "../parts/time.tsx";

const columns: Column<AuditEntry>[] = [
  { id: "when", header: "When", cell: ({ row }) => <Time at={row.original.at} /> },
  { id: "who", header: "Who", cell: ({ row }) => <Who entry={row.original} /> },
  { id: "action", header: "Action", cell: ({ row }) => row.original.action.replaceAll("_", " ") },
  { id: "target", header: "Target", cell: ({ row }) => <Target entry={row.original} /> },
  { id: "reason", header: "Reason", cell: ({ row }) => row.original.reason },
  { id: "result", header: "Result", cell: ({ row }) => factsOf(row.original.result) },
];

/** Entries of the audit, newest first. */
export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <div className="scroll">
      <DataTable caption="Audit" columns={columns} rows={[...entries]} keyOf={({ id }) => id} />
    </div>
  );
}

function Who({ entry }: { entry: AuditEntry }) {
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

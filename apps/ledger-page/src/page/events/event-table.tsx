import type { EventRow } from "@millrace/api-contract";
import { Link } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { Time } from "../parts/time.tsx";
import { eventLink } from "./list-filter.ts";
import { keyOf } from "./use-steady-rows.ts";

/** Longer errors are read on the event's own page. */
const ERROR_SHOWN = 240;

const columns: Column<EventRow>[] = [
  { id: "when", header: "Recorded", cell: ({ row }) => <Time at={row.original.recorded_at} /> },
  {
    id: "status",
    header: "Status",
    cell: ({ row: { original: event } }) => (
      <>
        <StatusBadge status={event.status} />
        {event.outcome !== null && event.outcome !== "handled" && (
          <span className="quiet outcome">{event.outcome}</span>
        )}
      </>
    ),
  },
  { id: "source", header: "Source", cell: ({ row }) => row.original.source },
  { id: "type", header: "Type", cell: ({ row }) => row.original.type },
  { id: "id", header: "Event", cell: ({ row }) => <EventLink event={row.original} /> },
  { id: "attempts", header: "Attempts", cell: ({ row }) => row.original.attempts },
  { id: "error", header: "Last error", cell: ({ row }) => lastError(row.original) },
];

/** A page of the ledger, a row an event and generation. */
export function EventTable({ rows }: { rows: EventRow[] }) {
  return (
    <DataTable
      caption="Events, newest first"
      columns={columns}
      rows={rows}
      keyOf={keyOf}
      classOf={(row) => row.status}
    />
  );
}

function EventLink({ event }: { event: EventRow }) {
  return (
    <>
      <Link to={eventLink(event.source, event.event_id, event.generation)}>{event.event_id}</Link>
      {event.generation > 0 && (
        <span className="quiet" title={`Replay ${event.generation}`}>
          {" "}
          · replay {event.generation}
        </span>
      )}
    </>
  );
}

// An error that a later attempt made good is history.
function lastError(event: EventRow) {
  if (event.status === "completed" || event.last_error === null) return null;
  const { last_error: text } = event;
  return <code>{text.length > ERROR_SHOWN ? `${text.slice(0, ERROR_SHOWN)}…` : text}</code>;
}

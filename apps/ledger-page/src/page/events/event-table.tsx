import type { EventRow } from "@millrace/api-contract";
import { Link } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { eventLink } from "../parts/list-filter.ts";
import { Due, Time } from "../parts/time.tsx";
import { keyOf, type Selection } from "./use-rows.ts";

/** Characters. The event's page has the rest. */
const ERROR_SHOWN = 240;

const COLUMNS: Column<EventRow>[] = [
  { id: "when", header: "Recorded", cell: (event) => <Time at={event.recorded_at} /> },
  {
    id: "status",
    header: "Status",
    cell: (event) => (
      <>
        <StatusBadge status={event.status} />
        {event.outcome !== null && event.outcome !== "handled" && (
          <span className="quiet outcome">{event.outcome}</span>
        )}
        <NextAttempt event={event} />
      </>
    ),
  },
  { id: "source", header: "Source", cell: (event) => event.source },
  { id: "type", header: "Type", cell: (event) => event.type },
  { id: "id", header: "Event", cell: (event) => <EventLink event={event} /> },
  { id: "attempts", header: "Attempts", cell: (event) => event.attempts },
  { id: "error", header: "Last error", cell: (event) => lastError(event) },
];

interface Props {
  readonly rows: EventRow[];
  readonly order: "desc" | "asc";
  /** Undefined for a user who cannot retry. */
  readonly selection: Selection | undefined;
}

export function EventTable({ rows, order, selection }: Props) {
  return (
    <DataTable
      caption={order === "desc" ? "Events, newest first" : "Events, oldest first"}
      className="events"
      columns={selection === undefined ? COLUMNS : [tickColumn(rows, selection), ...COLUMNS]}
      rows={rows}
      keyOf={keyOf}
      classOf={(row) => row.status}
    />
  );
}

function tickColumn(rows: readonly EventRow[], selection: Selection): Column<EventRow> {
  const areAll = selection.rows.length === rows.length;
  return {
    id: "tick",
    header: (
      <input
        type="checkbox"
        aria-label="Select all events on this page"
        checked={areAll}
        ref={(box) => {
          if (box !== null) box.indeterminate = !areAll && selection.rows.length > 0;
        }}
        onChange={() => selection.all(!areAll)}
      />
    ),
    cell: (event) => (
      <input
        type="checkbox"
        aria-label={`Select ${event.event_id}`}
        checked={selection.has(event)}
        // A click has the Shift key; a change has none. The space bar clicks too.
        onClick={({ shiftKey }) => selection.toggle(event, shiftKey)}
        onChange={() => {}}
      />
    ),
  };
}

function NextAttempt({ event }: { event: EventRow }) {
  const { status, next_attempt_at, last_error_code } = event;
  if (status !== "pending" || next_attempt_at === null) return null;
  return (
    <span className="quiet outcome next">
      {last_error_code === "retry_later" ? "waits, " : ""}
      next attempt <Due at={next_attempt_at} />
    </span>
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

import type { EventRow, QueuedPage, QueuedRow } from "@millrace/api-contract";
import { Link, useLocation, useNavigate } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { DataTable, type Column, RowMenu } from "../parts/data-table.tsx";
import { formatCount } from "../parts/format.ts";
import { eventLink, writeFilter, type ListState } from "../parts/list-filter.ts";
import { copy } from "../parts/notice.tsx";
import { Age, Due } from "../parts/time.tsx";
import { keyOf, type Selection } from "./use-rows.ts";

/** Characters. The event's page has the rest. */
const ERROR_SHOWN = 240;

interface Props {
  readonly rows: readonly EventRow[];
  readonly order: "desc" | "asc";
  /** Undefined for a user who cannot retry. */
  readonly selection: Selection | undefined;
  readonly onRetry: (row: EventRow) => void;
}

export function EventTable({ rows, order, selection, onRetry }: Props) {
  // An event's page leads on to the next one of the list that it was opened from.
  const { search } = useLocation();
  const state: ListState = { list: rows.map(eventLink), back: search };
  const columns: Column<EventRow>[] = [
    { id: "status", header: "Status", cell: (event) => <Status event={event} /> },
    {
      id: "id",
      header: "Event",
      cell: (event) => (
        <>
          <Link to={eventLink(event)} state={state}>
            {event.event_id}
          </Link>
          {event.generation > 0 && <span className="quiet"> · replay {event.generation}</span>}
          {event.edited && <span className="quiet"> · edited, not from the sender</span>}
        </>
      ),
    },
    { id: "type", header: "Type", cell: (event) => event.type },
    { id: "source", header: "Source", cell: (event) => event.source },
    { id: "error", header: "Last error", cell: (event) => lastError(event) },
    { id: "attempts", header: "Attempts", cell: (event) => event.attempts },
    { id: "when", header: "Recorded", cell: (event) => <Age at={event.recorded_at} /> },
    {
      id: "menu",
      header: <span className="hidden">Actions</span>,
      cell: (event) => <EventMenu event={event} onRetry={selection && (() => onRetry(event))} />,
    },
  ];
  return (
    <DataTable
      caption={order === "desc" ? "Events, newest first" : "Events, oldest first"}
      className="events"
      columns={selection === undefined ? columns : [tickColumn(rows, selection), ...columns]}
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

function Status({ event }: { event: EventRow }) {
  const { status, outcome, next_attempt_at, last_error_code } = event;
  return (
    <>
      <StatusBadge status={status} />
      {outcome !== null && outcome !== "handled" && (
        <span className="quiet outcome">{outcome}</span>
      )}
      {status === "pending" && next_attempt_at !== null && (
        <span className="quiet outcome">
          {last_error_code === "retry_later" ? "waits, " : ""}
          next attempt <Due at={next_attempt_at} />
        </span>
      )}
    </>
  );
}

// An error that a later attempt made good is history.
function lastError({ status, last_error: text }: EventRow) {
  if (status === "completed" || text === null) return null;
  const shown = text.length > ERROR_SHOWN ? `${text.slice(0, ERROR_SHOWN)}…` : text;
  return <code title={shown}>{shown}</code>;
}

interface EventMenuProps {
  readonly event: EventRow;
  readonly onRetry: (() => void) | undefined;
}

function EventMenu({ event, onRetry }: EventMenuProps) {
  const navigate = useNavigate();
  const { source, type, event_id, status, fingerprint } = event;
  const items = [
    { text: "Copy ID", act: () => void copy(event_id, "the ID") },
    {
      text: "Show this type",
      act: () => void navigate(`/events?${writeFilter({ source, type })}`),
    },
    ...(fingerprint === null
      ? []
      : [{ text: "Show the error", act: () => void navigate(`/errors/${fingerprint}`) }]),
    ...(onRetry === undefined || status !== "failed" ? [] : [{ text: "Retry…", act: onRetry }]),
  ];
  return <RowMenu label={`Actions of ${event_id}`} items={items} />;
}

const COLUMNS: Column<QueuedRow>[] = [
  {
    id: "when",
    header: "Received",
    cell: ({ received_at }) => <Age at={received_at} />,
  },
  {
    id: "status",
    header: "Status",
    cell: ({ problem }) => (
      <>
        <StatusBadge status="queued" />
        {problem !== null && <span className="quiet outcome">{problem}</span>}
      </>
    ),
  },
  { id: "source", header: "Source", cell: ({ source }) => source },
  { id: "type", header: "Type", cell: ({ type }) => type },
  {
    id: "id",
    header: "Event",
    cell: ({ source, event_id, job_id }) =>
      event_id === null ? (
        `job ${job_id}`
      ) : (
        <Link to={eventLink({ source, event_id })}>{event_id}</Link>
      ),
  },
  { id: "job", header: "Job", cell: ({ job_state }) => job_state },
];

export function QueuedEvents({ queued }: { queued: QueuedPage | null }) {
  if (queued === null) {
    return <p className="quiet">No queue answers: events that only they have are not listed.</p>;
  }
  if (queued.events.length === 0) return null;
  return (
    <div>
      <p className="quiet">{formatCount(queued.count)} wait on their queues</p>
      <DataTable
        caption="Queued events, newest first"
        className="events"
        columns={COLUMNS}
        rows={queued.events}
        keyOf={({ source, job_id }) => JSON.stringify([source, job_id])}
      />
    </div>
  );
}

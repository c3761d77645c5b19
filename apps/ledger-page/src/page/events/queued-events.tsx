import type { QueuedPage, QueuedRow } from "@millrace/api-contract";
import { Link } from "react-router";
import { StatusBadge } from "../parts/badge.tsx";
import { DataTable, type Column } from "../parts/data-table.tsx";
import { formatCount } from "../parts/format.ts";
import { eventLink } from "../parts/list-filter.ts";
import { Age } from "../parts/time.tsx";

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
        <Link to={eventLink(source, event_id)}>{event_id}</Link>
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

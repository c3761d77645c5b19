import type { EventRow } from "@millrace/api-contract";

type Status = EventRow["status"];

/** In the order in which the page shows them. */
export const STATUSES = ["pending", "failed", "completed"] as const satisfies readonly Status[];

const SIGNS = { pending: "◷", completed: "✓", failed: "✕", queued: "⋯" } as const;

/** A status by word, sign and colour, so that none of them has to be seen. */
export function StatusBadge({ status }: { status: Status | "queued" }) {
  return (
    <span className={`badge ${status}`}>
      <span aria-hidden="true">{SIGNS[status]}</span> {status}
    </span>
  );
}

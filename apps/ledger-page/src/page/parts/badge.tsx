import type { EventRow } from "@millrace/api-contract";

type Status = EventRow["status"];

export const STATUSES = ["pending", "failed", "completed"] as const satisfies readonly Status[];

const SIGNS = { pending: "◷", completed: "✓", failed: "✕", queued: "⋯" } as const;

/** By word, sign and color, so that a user needs only one of them. */
export function StatusBadge({ status }: { status: Status | "queued" }) {
  return (
    <span className={`badge ${status}`}>
      <span aria-hidden="true">{SIGNS[status]}</span> {status}
    </span>
  );
}

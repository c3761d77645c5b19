import type { EventRow } from "@millrace/api-contract";
import { CircleCheck, CircleDashed, CircleX, Clock } from "lucide-react";

type Status = EventRow["status"];

export const STATUSES = ["pending", "failed", "completed"] as const satisfies readonly Status[];

const SIGNS = {
  pending: <Clock />,
  completed: <CircleCheck />,
  failed: <CircleX />,
  queued: <CircleDashed />,
};

/** By word, sign and color, so that a user needs only one of them. */
export function StatusBadge({ status }: { status: Status | "queued" }) {
  return (
    <span className={`badge ${status}`}>
      {SIGNS[status]} {status}
    </span>
  );
}

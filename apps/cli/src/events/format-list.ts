import type { EventRow } from "@millrace/ledger";
import type { Output } from "../context.ts";
import { age } from "./age.ts";
import { formatTable } from "./format-table.ts";
import { printable } from "../printable.ts";

const HEAD = ["SOURCE", "ID", "TYPE", "STATUS", "ATTEMPTS", "AGE", "LAST ERROR"];

/** A table of events; on a terminal its lines are cut to fit. */
export function formatList(events: readonly EventRow[], now: Date, to: Output): string {
  const rows = events.map((event) => [
    event.source,
    printable(event.event_id) + (event.generation === 0 ? "" : ` (replay ${event.generation})`),
    printable(event.type),
    statusOf(event),
    String(event.attempts),
    age(new Date(event.recorded_at), now),
    // Of a completed event it is how an earlier attempt failed, which nobody looks for in a list.
    event.status === "completed" ? "" : printable(event.last_error ?? ""),
  ]);
  return formatTable([HEAD, ...rows], to.isTTY === true ? to.columns : undefined);
}

/** A status, or how it was completed, where no handler did it. */
export function statusOf({ status, outcome }: EventRow): string {
  return outcome === null || outcome === "handled" ? status : outcome;
}

import type { EventRow } from "@millrace/ledger";
import { printable } from "../printable.ts";
import { statusOf } from "./format-list.ts";

/** One event on a line of its own, whose columns do not wait for the lines to come. */
export function formatLine(event: EventRow): string {
  const { event_id, generation, processed_at, recorded_at, status, last_error } = event;
  const columns = [
    (processed_at ?? recorded_at).slice(11, 23),
    statusOf(event).padEnd(9),
    event.source.padEnd(10),
    (printable(event_id) + (generation === 0 ? "" : ` (replay ${generation})`)).padEnd(28),
    printable(event.type).padEnd(24),
    status === "failed" ? printable(last_error ?? "") : "",
  ];
  return columns.join("  ").trimEnd();
}

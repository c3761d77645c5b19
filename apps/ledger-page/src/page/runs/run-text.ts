import type { BulkRun } from "@millrace/api-contract";
import { durationOf } from "../parts/age.ts";
import { countOf, formatCount } from "../parts/count.ts";

/** Whether a run still has events to reach. */
export const isOpen = ({ state }: Pick<BulkRun, "state">): boolean =>
  state === "running" || state === "paused";

/** `120 of 8,213 events reached`; the whole is not known where it was too many to count. */
export function progressText({ listed, total }: BulkRun): string {
  if (total === null) return `${countOf(listed, "event")} reached, of more than 100,000`;
  return `${formatCount(listed)} of ${countOf(total, "event")} reached`;
}

/** How long events take at a rate in events per second; the least time if there are `more` of them. */
export function timeText(count: number, rate: number, more: boolean): string {
  return `${more ? "more than" : "about"} ${durationOf((count / rate) * 1_000)}`;
}

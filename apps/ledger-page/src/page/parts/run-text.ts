import type { BulkRun } from "@millrace/api-contract";
import { countOf, formatCount } from "./format.ts";

export const isOpen = ({ state }: Pick<BulkRun, "state">): boolean =>
  state === "running" || state === "paused";

/** `120 of 8,213 events reached`; the whole is not known where it was too many to count. */
export function progressText({ listed, total }: BulkRun): string {
  if (total === null) return `${countOf(listed, "event")} reached, of more than 100,000`;
  return `${formatCount(listed)} of ${countOf(total, "event")} reached`;
}

export const RUN_EVERY = 1_000;
/** So that counting a run takes a tenth of the time at most. */
const REST = 10;

/** Milliseconds until the next reading; false when the run can no longer change. */
export function restOf(
  run: Pick<BulkRun, "state"> & { readonly results: Pick<BulkRun["results"], "pending"> },
  tookMs: number,
): number | false {
  return isOpen(run) || run.results.pending > 0 ? Math.max(RUN_EVERY, REST * tookMs) : false;
}

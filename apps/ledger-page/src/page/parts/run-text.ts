import type { BulkRun } from "@millrace/api-contract";
import { countOf, formatCount } from "./format.ts";

/** True while a run still has events to reach. */
export const isOpen = ({ state }: Pick<BulkRun, "state">): boolean =>
  state === "running" || state === "paused";

/** `120 of 8,213 events reached`; the whole is not known where it was too many to count. */
export function progressText({ listed, total }: BulkRun): string {
  if (total === null) return `${countOf(listed, "event")} reached, of more than 100,000`;
  return `${formatCount(listed)} of ${countOf(total, "event")} reached`;
}

/** Milliseconds until a run is asked for again. */
export const RUN_EVERY = 1_000;
/** A run rests this many times as long as the count of its members took. */
const REST = 10;

/**
 * Milliseconds until a run is asked for again whose last answer took so long; false when nothing
 * about it can change.
 */
export function restOf(
  run: Pick<BulkRun, "state"> & { readonly results: Pick<BulkRun["results"], "pending"> },
  tookMs: number,
): number | false {
  return isOpen(run) || run.results.pending > 0 ? Math.max(RUN_EVERY, REST * tookMs) : false;
}

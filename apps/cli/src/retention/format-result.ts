import type { RetentionNotice, RetentionResult } from "@millrace/operations";
import { formatBytes } from "./format-bytes.ts";

/** What a run came to, or that it was stopped before its end. */
export type Ending = RetentionResult | { readonly kind: "cancelled" };

/** What a run has done so far. */
export interface Tally {
  readonly moved: number;
  readonly archived: number;
  readonly dropped: number;
  readonly bytes: number;
  readonly deleted: number;
  /** Of a bar: events that were moved, archived or deleted, and days that were dropped. */
  readonly steps: number;
  add(notice: RetentionNotice): void;
}

/** Counts what a run does. */
export function createTally(): Tally {
  const sums = { moved: 0, archived: 0, dropped: 0, bytes: 0, deleted: 0, steps: 0 };
  return Object.assign(sums, {
    add(notice: RetentionNotice) {
      if (notice.kind === "dropped") {
        sums.dropped += 1;
        sums.bytes += notice.bytes;
        sums.steps += 1;
      }
      if (notice.kind === "moved") sums.moved += notice.events;
      if (notice.kind === "archived") sums.archived += notice.events;
      if (notice.kind === "keys_deleted") sums.deleted += notice.events;
      const isStep = ["moved", "archiving", "keys_deleted"].includes(notice.kind);
      if (isStep && "events" in notice) sums.steps += notice.events;
    },
  });
}

/** What a run came to, for people. */
export function resultAsText(result: Ending, tally: Tally): string {
  if (result.kind === "taken") return "nothing done: a worker is at it just now";
  const lines = [
    `moved on ${tally.moved} bodies of events that are not completed`,
    `archived ${tally.archived} events`,
    `dropped ${tally.dropped} days of bodies (${formatBytes(tally.bytes)})`,
    `deleted ${tally.deleted} completed events`,
  ];
  if (result.kind === "cancelled") return [...lines, "stopped before the end"].join("\n");
  const busy = result.busy.map((day) => `left ${day} for the next run: its bodies are in use`);
  return [...lines, ...busy].join("\n");
}

/** The same for programs. */
export function resultAsJson(result: Ending, tally: Tally): string {
  const { moved, archived, dropped, bytes, deleted } = tally;
  return JSON.stringify({
    dry_run: false,
    outcome: result.kind,
    ...{ moved, archived, partitions_dropped: dropped, bytes, keys_deleted: deleted },
    busy: result.kind === "done" ? result.busy : [],
    oldest_day: result.kind === "done" ? (result.oldestDay ?? null) : null,
  });
}

import type {
  RetentionNotice,
  RetentionPlan,
  RetentionPolicy,
  RetentionResult,
} from "@millrace/operations";
import { formatTable } from "../terminal-text.ts";

/** The plan of a run, as text. */
export function planAsText(plan: RetentionPlan, policy: RetentionPolicy): string {
  const { partitions, keysToDelete, oldestDay } = plan;
  const lines = [
    `bodies are kept ${policy.bodiesDays} days, events ${policy.keysDays}; the oldest bodies are of ${oldestDay ?? "no day"}`,
  ];
  if (partitions.length === 0) lines.push("would drop no bodies");
  else lines.push("would drop the bodies of", daysTable(plan, policy));
  lines.push(`would delete ${keysToDelete} completed events`);
  return lines.join("\n");
}

function daysTable({ partitions }: RetentionPlan, { archiveDir }: RetentionPolicy): string {
  const rows = partitions.map(({ day, bytes, events, toMove, archive }) => [
    `  ${day}`,
    formatBytes(bytes),
    `${events} events`,
    `${toMove} to move on`,
    ...(archive === undefined ? [] : [`archived to ${archive}`]),
  ]);
  const sum = (of: (partition: (typeof partitions)[number]) => number) =>
    partitions.reduce((total, partition) => total + of(partition), 0);
  const total = [
    "  in all",
    formatBytes(sum(({ bytes }) => bytes)),
    `${sum(({ events }) => events)} events`,
    `${sum(({ toMove }) => toMove)} to move on`,
    ...(archiveDir === undefined ? [] : [""]),
  ];
  return formatTable([...rows, total]);
}

/** The same for programs. */
export function planAsJson({ partitions, keysToDelete, oldestDay }: RetentionPlan): string {
  return JSON.stringify({
    dry_run: true,
    partitions: partitions.map(({ day, bytes, events, toMove, archive }) => ({
      ...{ day, bytes, events, to_move: toMove, archive: archive ?? null },
    })),
    keys_to_delete: keysToDelete,
    oldest_day: oldestDay ?? null,
  });
}

/** The result of a run, or that it was stopped before its end. */
export type Ending = RetentionResult | { readonly kind: "cancelled" };

/** Progress of a run. */
export interface Counts {
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
export function createCounts(): Counts {
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

/** The result of a run, as text. */
export function resultAsText(result: Ending, tally: Counts): string {
  if (result.kind === "taken") return "nothing done: a worker is running retention";
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
export function resultAsJson(result: Ending, tally: Counts): string {
  const { moved, archived, dropped, bytes, deleted } = tally;
  return JSON.stringify({
    dry_run: false,
    outcome: result.kind,
    ...{ moved, archived, partitions_dropped: dropped, bytes, keys_deleted: deleted },
    busy: result.kind === "done" ? result.busy : [],
    oldest_day: result.kind === "done" ? (result.oldestDay ?? null) : null,
  });
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** A size for people: `0 B`, `16 kB`, `1.2 GB`. */
export function formatBytes(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= 1_000 && unit < UNITS.length - 1) {
    size /= 1_000;
    unit += 1;
  }
  const digits = unit > 0 && size < 10 ? 1 : 0;
  return `${size.toFixed(digits)} ${UNITS[unit]}`;
}

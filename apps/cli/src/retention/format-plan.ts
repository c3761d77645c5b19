import type { RetentionPlan, RetentionPolicy } from "@millrace/operations";
import { formatTable } from "../events/format-table.ts";
import { formatBytes } from "./format-bytes.ts";

/** What a run would do, for people. */
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

import type { EventRow } from "@millrace/api-contract";
import type { EventRecord } from "@millrace/ledger";
import type { Output } from "../context.ts";
import { formatTable, printable } from "../terminal-text.ts";

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

/** One event in full, for people. */
export function formatDetail(detail: EventRecord): string {
  const { event, payload, body, headers, attemptLog, conflicts, generations } = detail;
  const fields = Object.entries(event).filter(([, value]) => value !== null);
  const sections = [formatTable(fields.map(([name, value]) => [name, printable(String(value))]))];
  if (attemptLog.length > 0) {
    const rows = attemptLog.map(({ attempt, finished_at, code, message }) => [
      `  ${attempt}`,
      finished_at,
      code,
      printable(message),
    ]);
    sections.push(`failed attempts\n${formatTable(rows)}`);
  }
  if (conflicts.length > 0) {
    const rows = conflicts.map(({ body_hash, deliveries, last_seen_at }) => [
      `  ${printable(body_hash)}`,
      `${deliveries}`,
      last_seen_at,
    ]);
    sections.push(`deliveries with another body, which was not kept\n${formatTable(rows)}`);
  }
  if (generations.length > 1) sections.push(`generations\n${generationsTable(generations)}`);
  const kept = Object.entries(headers).map(([name, value]) => `  ${name}: ${printable(value)}`);
  if (kept.length > 0) sections.push(`headers\n${kept.join("\n")}`);
  sections.push(`payload\n${payloadText(payload, body)}`);
  return sections.join("\n\n");
}

function generationsTable(generations: EventRecord["generations"]): string {
  return formatTable(
    generations.map(({ generation, recorded_at, status, outcome, attempts, last_error }) => [
      `  ${generation}`,
      recorded_at,
      outcome ?? status,
      `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`,
      status === "failed" ? printable(last_error ?? "") : "",
    ]),
  );
}

function payloadText(payload: unknown, body: Uint8Array | undefined): string {
  if (body === undefined) return "  no longer kept";
  const text = payload === null ? Buffer.from(body).toString() : JSON.stringify(payload, null, 2);
  return text
    .split("\n")
    .map((line) => `  ${printable(line)}`)
    .join("\n");
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** How long ago something was, in its largest unit: `42s`, `5m`, `3h`, `12d`. */
export function age(since: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1_000));
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  }
  return `${seconds}s`;
}

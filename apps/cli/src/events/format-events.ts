import { countOf } from "@millrace/api-contract/run-text";
import type { Attempt, EventRow, QueuedPage } from "@millrace/api-contract";
import { formatJson, shownText, textOf } from "@millrace/api-contract/format-body";
import {
  orderTimeline,
  type FoldedAttempts,
  type TimelineEntry,
} from "@millrace/api-contract/timeline";
import type { EventRecord } from "@millrace/ledger";
import type { Output } from "../context.ts";
import { cut, formatTable, nameOf, printable, widthOf } from "../terminal-text.ts";

const HEAD = ["SOURCE", "ID", "TYPE", "STATUS", "ATTEMPTS", "AGE", "NEXT", "LAST ERROR"];

/** Characters of a line that is wide enough for the column of errors. */
const WIDE = 120;

export function formatList(events: readonly EventRow[], now: Date, to: Output): string {
  const width = widthOf(to);
  const rows = events.map((event) => [
    event.source,
    nameOf(event.event_id, event.generation),
    printable(event.type),
    statusOf(event),
    String(event.attempts),
    age(new Date(event.recorded_at), now),
    nextAttempt(event, now),
    // Of a completed event it is how an earlier attempt failed, which nobody looks for in a list.
    event.status === "completed" ? "" : printable(event.last_error ?? ""),
  ]);
  if (width === undefined || width >= WIDE) return formatTable([HEAD, ...rows], width);
  const table = formatTable(
    [HEAD, ...rows].map((row) => row.slice(0, -1)),
    width,
  );
  const [head = "", ...lines] = table.split("\n");
  const blocks = lines.map((line, index) => {
    const error = rows[index]?.at(-1) ?? "";
    return error === "" ? line : `${line}\n${cut(`  ${error}`, width)}`;
  });
  return [head, ...blocks].join("\n");
}

export function formatQueued(queued: QueuedPage | null, now: Date): string {
  if (queued === null || queued.events.length === 0) return "";
  const rows = queued.events.map((row) => [
    row.source,
    printable(row.event_id ?? `job ${row.job_id}`),
    printable(row.type ?? ""),
    "queued",
    age(new Date(row.received_at), now),
    row.problem ?? row.job_state,
  ]);
  const table = formatTable([["SOURCE", "ID", "TYPE", "STATUS", "AGE", "JOB"], ...rows]);
  return `${table}\n${queued.count} wait on their queues.\n\n`;
}

/** The time until a pending event is attempted again: "waits" where its handler asked for it. */
function nextAttempt({ status, next_attempt_at, last_error_code }: EventRow, now: Date): string {
  if (status !== "pending" || next_attempt_at === null) return "";
  const at = new Date(next_attempt_at);
  if (at <= now) return "due";
  return `${last_error_code === "retry_later" ? "waits" : "in"} ${age(now, at)}`;
}

export function statusOf({ status, outcome }: EventRow): string {
  return outcome === null || outcome === "handled" ? status : outcome;
}

export function formatDetail(detail: EventRecord, now: Date, sourceNote = ""): string {
  const { event, headers, find, conflicts, generations } = detail;
  const { deliveries, same_message: sameMessage, emitted_by: emittedBy, emitted } = detail;
  const noted = { ...event, source: event.source + sourceNote };
  const fields = Object.entries(noted).filter(([, value]) => value !== null);
  const noteOf = (name: string) =>
    name === "next_attempt_at" ? ` (${nextAttempt(event, now)})` : "";
  const kept = Object.entries(headers).map(([name, value]) => `  ${name}: ${printable(value)}`);
  return [
    formatTable(fields.map(([name, value]) => [name, printable(String(value)) + noteOf(name)])),
    timelineSection(detail),
    ...failureSections(detail.attempt_log),
    deliveries.total > 1 && deliveriesTable(deliveries),
    conflicts.length > 0 && conflictsTable(conflicts),
    generations.length > 1 && `generations\n${generationsTable(generations)}`,
    sameMessage.total > 0 && eventsTable("other events with the same signed message", sameMessage),
    emittedBy !== null &&
      `${event.edited ? "edited from" : "emitted by"}\n  ${emittedBy.source}  ${nameOf(emittedBy.event_id, emittedBy.generation)}`,
    emitted.total > 0 && eventsTable("emitted", emitted),
    find.length > 0 && `find\n${find.map((value) => `  ${printable(value)}`).join("\n")}`,
    kept.length > 0 && `headers\n${kept.join("\n")}`,
    `payload\n${payloadText(detail)}`,
  ]
    .filter((section) => typeof section === "string")
    .join("\n\n");
}

function timelineSection(detail: EventRecord): string | undefined {
  const entries = orderTimeline(detail);
  if (entries.length === 0) return undefined;
  const isPlain = entries.every(({ kind }) => kind === "attempts");
  const heading = isPlain ? "attempts that failed or waited" : "timeline";
  return `${heading}\n${formatTable(entries.map(timelineRow))}`;
}

function timelineRow(entry: TimelineEntry): string[] {
  if (entry.kind === "attempts") return attemptsRow(entry.attempts);
  if (entry.kind === "act")
    return ["  by hand", entry.act.at, entry.act.action, actText(entry.act)];
  const { at, name, attempt } = entry.step;
  return ["  step", at, printable(name), `ended in attempt ${attempt}`];
}

function attemptsRow({ first, last, all }: FoldedAttempts): string[] {
  const { finished_at: at, code } = last;
  const message = printable(last.message);
  if (all.length === 1) return [`  ${first.attempt}`, at, code, message];
  const from = first.finished_at;
  // The day is in the column before.
  const times = [from, at].map((time) =>
    from.slice(0, 10) === at.slice(0, 10) ? time.slice(11, 16) : time.slice(0, 16),
  );
  const often = `×${all.length}, ${times.join(" to ")}`;
  return [`  ${first.attempt} to ${last.attempt}`, at, code, `${often}: ${message}`];
}

function actText({ actor, via, reason, run }: EventRecord["acts"][number]): string {
  const who = `${printable(actor ?? "unknown user")} (${via})`;
  const which = run === null ? "" : `, run ${run}`;
  return `${who}${which}${reason === null ? "" : `: ${printable(reason)}`}`;
}

/** Stack and log of the last attempt that has one of them. */
export function failureSections(attemptLog: readonly Attempt[]): string[] {
  const last = attemptLog.findLast(({ stack, log }) => stack !== null || log !== null);
  if (last === undefined) return [];
  const { attempt, stack, log, log_dropped: dropped } = last;
  const sections: string[] = [];
  if (stack !== null && stack.length > 0) {
    const called = stack.findLastIndex((frame) => frame.own);
    const frames = called === -1 ? stack : stack.slice(0, called + 1);
    const rows = frames.map(({ own, file, line, column, function: name }) => [
      `${own ? "  >" : "   "} ${printable([file, line, column].filter((part) => part !== null).join(":"))}`,
      printable(name ?? ""),
    ]);
    const left = stack.length - frames.length;
    const more = left === 0 ? "" : `\n    … ${left} frames of millrace and other packages`;
    sections.push(`thrown in attempt ${attempt} (> is your own code)\n${formatTable(rows)}${more}`);
  }
  if (log !== null && log.length > 0) {
    const rows = log.map(({ at, level, text }) => [`  ${at}`, level, printable(text)]);
    const more = dropped === null || dropped === 0 ? "" : `, without ${dropped} earlier lines`;
    sections.push(`log of attempt ${attempt}${more}\n${formatTable(rows)}`);
  }
  return sections;
}

function conflictsTable(conflicts: EventRecord["conflicts"]): string {
  const rows = conflicts.map(({ body_hash, kept, deliveries, last_seen_at }) => {
    const hash = `  ${printable(body_hash)}`;
    return [hash, kept ? "kept" : "hash only", `${deliveries}`, last_seen_at];
  });
  return `deliveries with another body; millrace replay --conflict <hash> runs it\n${formatTable(rows)}`;
}

function deliveriesTable({ total, recent }: EventRecord["deliveries"]): string {
  const rows = recent.map(({ at, outcome, ingress }) => {
    return [`  ${at}`, outcome, printable(ingress ?? "")];
  });
  const which = total > recent.length ? `${total}, the last ${recent.length}` : `${total}`;
  return `deliveries: ${which}\n${formatTable(rows)}`;
}

function eventsTable(heading: string, { total, events }: EventRecord["same_message" | "emitted"]) {
  const rows = events.map((event) => {
    const { event_id, type, status, outcome, recorded_at, last_error_code } = event;
    return [
      `  ${printable(event_id)}`,
      "source" in event ? `${event.source} ${printable(type)}` : printable(type),
      outcome ?? (status === "failed" ? (last_error_code ?? status) : status),
      recorded_at,
    ];
  });
  const which = total > events.length ? `, the first ${events.length} of ${total}` : "";
  return `${heading}${which}\n${formatTable(rows)}`;
}

function generationsTable(generations: EventRecord["generations"]): string {
  return formatTable(
    generations.map(({ generation, recorded_at, status, outcome, attempts, last_error }) => [
      `  ${generation}`,
      recorded_at,
      outcome ?? status,
      countOf(attempts, "attempt"),
      status === "failed" ? printable(last_error ?? "") : "",
    ]),
  );
}

function payloadText({ event, payload, body, bodyBytes = 0 }: EventRecord): string {
  if (body === undefined) return "  no longer kept";
  const isWhole = body.byteLength === bodyBytes;
  const pretty = payload === null ? "not_json" : formatJson(payload.text);
  const text =
    typeof pretty === "string" ? shownText(body, isWhole) : pretty.map(textOf).join("\n");
  const lines = text?.split("\n").map(printable) ?? [];
  if (text === undefined || !isWhole) {
    const shown = text === undefined ? "Not text." : `The first ${body.byteLength} bytes.`;
    const all = `millrace events ${event.source} ${printable(event.event_id)} --body <file>`;
    lines.push(`${shown} All ${bodyBytes} bytes: ${all}`);
  }
  return lines.map((line) => `  ${line}`).join("\n");
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** The time between two dates, in its largest unit: `42s`, `5m`, `3h`, `12d`. */
export function age(since: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1_000));
  for (const [unit, size] of UNITS) {
    if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  }
  return `${seconds}s`;
}

import type { EventDetail } from "@millrace/ledger";
import { formatTable } from "./format-table.ts";
import { printable } from "../printable.ts";

/** One event in full, for people. */
export function formatDetail(detail: EventDetail): string {
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

function generationsTable(generations: EventDetail["generations"]): string {
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

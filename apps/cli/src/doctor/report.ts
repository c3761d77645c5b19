import type { Finding } from "@millrace/connect";
import { connectionHint } from "@millrace/core";
import { DISAGREEMENTS, type Diagnosis } from "@millrace/operations";
import { reasonOf } from "@millrace/service";
import type { Output } from "../context.ts";
import { formatTable, nameOf, printable, widthOf } from "../terminal-text.ts";

/** The result of a check: `note` is no fault; `unknown` could not be looked at. */
export interface Seen {
  readonly state: "ok" | "note" | "bad" | "unknown";
  readonly detail: string;
  readonly fix?: string | undefined;
}

export interface Line extends Seen {
  readonly name: string;
}

export interface Check<On> {
  readonly name: string;
  readonly run: (on: On) => Promise<Seen | undefined> | Seen | undefined;
  /** The fix of a problem, unless the result has its own. */
  readonly advice?: string;
  /** Runs only if an earlier check has one of these states. */
  readonly needs?: readonly [name: string, ...states: Seen["state"][]];
}

export async function runChecks<On>(
  lines: Line[],
  checks: readonly Check<On>[],
  on: On,
  show?: (doing: string) => void,
): Promise<void> {
  for (const { name, run, advice, needs } of checks) {
    if (needs !== undefined) {
      const [needed, ...states] = needs;
      if (!lines.some((line) => line.name === needed && states.includes(line.state))) continue;
    }
    show?.(`Checking ${name}…`);
    try {
      const seen = await run(on);
      if (seen === undefined) continue;
      lines.push({ name, ...seen, fix: seen.fix ?? (seen.state === "ok" ? undefined : advice) });
    } catch (error) {
      lines.push(unknown(name, error));
    }
  }
}

export const unknown = (name: string, error: unknown): Line => ({
  ...{ name, state: "unknown", detail: reasonOf(error), fix: connectionHint(error) },
});
export const ok = (detail: string): Seen => ({ state: "ok", detail });
export const note = (detail: string, fix?: string): Seen => ({ state: "note", detail, fix });
export const bad = (detail: string, fix?: string): Seen => ({ state: "bad", detail, fix });

/** Looks right without a finding. */
export function judged(detail: string, findings: readonly Finding[], problem = bad): Seen {
  if (findings.length === 0) return ok(detail);
  const details = findings.map((finding) => finding.detail).join("; ");
  return problem(`${detail}: ${details}`, findings.map(({ fix }) => fix).join("; "));
}

export interface Report {
  readonly checks: readonly Line[];
  readonly diagnosis: Diagnosis | undefined;
}

const MARKS: Record<Seen["state"], string> = { ok: "ok", note: "note", bad: "BAD", unknown: "?" };

export function asText({ checks, diagnosis }: Report, to: Output): string {
  const rows = checks.flatMap(({ name, state, detail, fix }) => {
    const lines = (fix === undefined ? detail : `${detail}\nfix: ${fix}`).split("\n");
    return lines.map((line, row) =>
      row === 0 ? [MARKS[state], name, printable(line)] : ["", "", printable(line)],
    );
  });
  if (diagnosis === undefined) {
    return `${formatTable(rows)}\n\nLedger and queues were not compared.`;
  }
  const { found, looked, notCompared } = diagnosis;
  const sections = [formatTable(rows)];
  const summary: string[] = [];
  if (found.size === 0) summary.push(`Ledger and queues agree (${looked} looked at).`);
  if (notCompared.size > 0) summary.push(`Not compared: ${[...notCompared.keys()].join(", ")}.`);
  if (summary.length > 0) sections.push(summary.join(" "));
  for (const [kind, { count, examples }] of found) {
    const { ledger, job, act } = DISAGREEMENTS[kind];
    const head = `${count} ${kind}: ledger ${ledger}, job ${job}; will be done: ${act}`;
    const lines = examples.map(({ source, event_id, generation, job_id, detail }) => [
      `  ${source}`,
      event_id === null ? `job ${printable(job_id ?? "")}` : nameOf(event_id, generation ?? 0),
      printable(detail ?? ""),
    ]);
    const more = count > examples.length ? [`  and ${count - examples.length} more`] : [];
    sections.push([head, formatTable(lines, widthOf(to)), ...more].join("\n"));
  }
  return sections.join("\n\n");
}

export function asJson({ checks, diagnosis }: Report) {
  if (diagnosis === undefined) return { checks, looked: null, disagreements: null };
  const disagreements = [...diagnosis.found].map(([kind, { count, examples }]) => {
    const { ledger, job, act } = DISAGREEMENTS[kind];
    return { kind, count, ledger, job, act, examples };
  });
  return { checks, looked: diagnosis.looked, disagreements };
}

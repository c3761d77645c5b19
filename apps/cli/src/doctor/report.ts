import { connectionHint } from "@millrace/core";
import { DISAGREEMENTS, type Diagnosis } from "@millrace/operations";
import { reasonOf } from "@millrace/service";
import type { Output } from "../context.ts";
import { formatTable, printable } from "../terminal-text.ts";

/** Names of checks, in the order of the report. */
type CheckName =
  | "config"
  | "handlers"
  | "secrets"
  | "roles"
  | "ports"
  | "postgres"
  | "connections"
  | "standby"
  | "session"
  | "schema"
  | "your tables"
  | "rights"
  | "retention"
  | "misplaced tables"
  | "event types"
  | "queue"
  | "queue's disk"
  | `queue of ${string}`
  | "clocks"
  | "epochs"
  | "reconciler";

/** One thing that was looked at. */
export interface Check {
  readonly name: CheckName;
  /** `note` is worth knowing and no fault; `unknown` could not be looked at. */
  readonly state: "ok" | "note" | "bad" | "unknown";
  readonly detail: string;
  /** The fix of a problem. */
  readonly fix?: string | undefined;
}

/** The result of a check. */
export type Seen = Omit<Check, "name">;

/** Runs one check. An error makes its state unknown. */
export async function check(name: CheckName, look: () => Promise<Seen> | Seen): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "unknown", detail: reasonOf(error), fix: connectionHint(error) };
  }
}

/** A check that has no line where there is nothing to say. */
export async function checkIfAny(
  name: Check["name"],
  look: () => Promise<Seen | undefined>,
): Promise<readonly Check[]> {
  let isSilent = false;
  const seen = await check(name, async () => {
    const found = await look();
    isSilent = found === undefined;
    return found ?? ok("");
  });
  return isSilent ? [] : [seen];
}

export const ok = (detail: string): Seen => ({ state: "ok", detail });
export const note = (detail: string, fix?: string): Seen => ({ state: "note", detail, fix });
export const bad = (detail: string, fix?: string): Seen => ({ state: "bad", detail, fix });

/** Everything that the doctor found. */
export interface Report {
  readonly checks: readonly Check[];
  /** Undefined when ledger and queues were not compared. */
  readonly diagnosis: Diagnosis | undefined;
}

const MARKS: Record<Check["state"], string> = { ok: "ok", note: "note", bad: "BAD", unknown: "?" };

/** The report as text. */
export function asText({ checks, diagnosis }: Report, to: Output): string {
  const width = to.isTTY === true ? to.columns : undefined;
  const rows = checks.flatMap(({ name, state, detail, fix }) => [
    [MARKS[state], name, printable(detail)],
    ...(fix === undefined ? [] : [["", "", `fix: ${fix}`]]),
  ]);
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
    const lines = examples.map(({ source, event, jobId = "", detail = "" }) => [
      `  ${source}`,
      event === undefined ? `job ${printable(jobId)}` : nameOf(event.eventId, event.generation),
      printable(detail),
    ]);
    const more = count > examples.length ? [`  and ${count - examples.length} more`] : [];
    sections.push([head, formatTable(lines, width), ...more].join("\n"));
  }
  return sections.join("\n\n");
}

function nameOf(id: string, generation: number): string {
  return printable(id) + (generation === 0 ? "" : ` (replay ${generation})`);
}

/** The same for programs, on one line. */
export function asJson({ checks, diagnosis }: Report): string {
  const disagreements =
    diagnosis &&
    [...diagnosis.found].map(([kind, { count, examples }]) => ({
      kind,
      count,
      ledger: DISAGREEMENTS[kind].ledger,
      job: DISAGREEMENTS[kind].job,
      act: DISAGREEMENTS[kind].act,
      examples: examples.map(({ source, event, jobId = null, detail = null }) => {
        const { eventId = null, generation = null } = event ?? {};
        return { source, event_id: eventId, generation, job_id: jobId, detail };
      }),
    }));
  return JSON.stringify({
    checks,
    looked: diagnosis?.looked ?? null,
    disagreements: disagreements ?? null,
  });
}

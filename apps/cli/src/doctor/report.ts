import { DISAGREEMENTS } from "@millrace/operations";
import { reasonOf } from "@millrace/service";
import type { Output } from "../context.ts";
import type { Report } from "./run-doctor.ts";
import { formatTable, printable } from "../terminal-text.ts";

/** What is looked at, in this order. */
export type CheckName =
  | "config"
  | "handlers"
  | "secrets"
  | "roles"
  | "ports"
  | "postgres"
  | "schema"
  | "your tables"
  | "queue"
  | "clocks"
  | "epochs"
  | "reconciler";

/** One thing that was looked at. */
export interface Check {
  readonly name: CheckName;
  /** `note` is worth knowing and no fault; `unknown` could not be looked at. */
  readonly state: "ok" | "note" | "bad" | "unknown";
  readonly detail: string;
  /** How to mend what is bad. */
  readonly mend?: string | undefined;
}

type Seen = Omit<Check, "name">;

/** Looks at one thing; what is thrown says that it could not be told, and why. */
export async function check(name: CheckName, look: () => Promise<Seen> | Seen): Promise<Check> {
  try {
    return { name, ...(await look()) };
  } catch (error) {
    return { name, state: "unknown", detail: reasonOf(error) };
  }
}

export const ok = (detail: string): Seen => ({ state: "ok", detail });
export const note = (detail: string): Seen => ({ state: "note", detail });
export const bad = (detail: string, mend?: string): Seen => ({ state: "bad", detail, mend });

const MARKS: Record<Check["state"], string> = { ok: "ok", note: "note", bad: "BAD", unknown: "?" };

/** What the doctor found, for people. */
export function asText({ checks, diagnosis }: Report, to: Output): string {
  const width = to.isTTY === true ? to.columns : undefined;
  const rows = checks.flatMap(({ name, state, detail, mend }) => [
    [MARKS[state], name, printable(detail)],
    ...(mend === undefined ? [] : [["", "", `mend: ${mend}`]]),
  ]);
  if (diagnosis === undefined) {
    return `${formatTable(rows)}\n\nLedger and queues were not compared.`;
  }
  const { found, looked } = diagnosis;
  const sections = [formatTable(rows)];
  if (found.size === 0) sections.push(`Ledger and queues agree (${looked} looked at).`);
  for (const [kind, { count, examples }] of found) {
    const { ledger, job, act } = DISAGREEMENTS[kind];
    const head = `${count} ${kind}: ledger ${ledger}, job ${job}; will be done: ${act}`;
    const lines = examples.map(({ source, eventId, generation, detail = "" }) => [
      `  ${source}`,
      printable(eventId) + (generation === 0 ? "" : ` (replay ${generation})`),
      printable(detail),
    ]);
    const more = count > examples.length ? [`  and ${count - examples.length} more`] : [];
    sections.push([head, formatTable(lines, width), ...more].join("\n"));
  }
  return sections.join("\n\n");
}

/** The same for programs, on one line. */
export function asJson({ checks, diagnosis }: Report): string {
  const disagreements =
    diagnosis &&
    [...diagnosis.found].map(([kind, { count, examples }]) => ({
      kind,
      count,
      ...DISAGREEMENTS[kind],
      examples: examples.map(({ source, eventId, generation, detail = null }) => ({
        ...{ source, event_id: eventId, generation, detail },
      })),
    }));
  return JSON.stringify({
    checks,
    looked: diagnosis?.looked ?? null,
    disagreements: disagreements ?? null,
  });
}

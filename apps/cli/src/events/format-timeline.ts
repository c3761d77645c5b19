import type { Attempt } from "@millrace/api-contract";
import { foldAttempts, type FoldedAttempts } from "@millrace/api-contract/fold-attempts";
import type { EventRecord } from "@millrace/ledger";
import { formatTable, printable } from "../terminal-text.ts";

/** Attempts, steps, and operators' actions by their time; undefined where nothing happened. */
export function timelineSection({
  attemptLog,
  acts,
  steps,
}: Pick<EventRecord, "attemptLog" | "acts" | "steps">): string | undefined {
  const others = [
    ...steps.map(({ at, name, attempt }) => ({
      at,
      row: ["  step", at, printable(name), `ended in attempt ${attempt}`],
    })),
    ...acts.map((act) => ({ at: act.at, row: ["  by hand", act.at, act.action, actText(act)] })),
  ].toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const rows: string[][] = [];
  let rest = attemptLog;
  const addAttempts = (until: number) => {
    const earlier = rest.filter(({ finished_at }) => Date.parse(finished_at) <= until);
    rest = rest.slice(earlier.length);
    rows.push(...foldAttempts(earlier).map(attemptsRow));
  };
  for (const { at, row } of others) {
    addAttempts(Date.parse(at));
    rows.push(row);
  }
  addAttempts(Infinity);
  if (rows.length === 0) return undefined;
  const heading = others.length === 0 ? "attempts that failed or waited" : "timeline";
  return `${heading}\n${formatTable(rows)}`;
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

/** Stack and log of the last failed attempt, with the project's own code marked. */
export function failureSections(attemptLog: readonly Attempt[]): string[] {
  const last = attemptLog.findLast(({ stack, log }) => stack !== null || log !== null);
  if (last === undefined) return [];
  const { attempt, stack, log, log_dropped: dropped } = last;
  const sections: string[] = [];
  if (stack !== null && stack.length > 0) {
    const rows = stack.map(({ own, file, line, column, function: name }) => [
      `${own ? "  >" : "   "} ${printable([file, line, column].filter((part) => part !== null).join(":"))}`,
      printable(name ?? ""),
    ]);
    sections.push(`thrown in attempt ${attempt} (> is your own code)\n${formatTable(rows)}`);
  }
  if (log !== null && log.length > 0) {
    const rows = log.map(({ at, level, text }) => [`  ${at}`, level, printable(text)]);
    const more = dropped === null || dropped === 0 ? "" : `, without ${dropped} earlier lines`;
    sections.push(`log of attempt ${attempt}${more}\n${formatTable(rows)}`);
  }
  return sections;
}

import type { Report } from "./run.ts";

/** Breaches that are shown of each invariant. */
const SHOWN_MAX = 5;

/** A report as people read it. */
export function printReport(report: Report): string {
  const { totals, findings, faults, folder, ok } = report;
  const seen = new Map<string, number>();
  const shown = findings.filter(({ invariant }) => {
    seen.set(invariant, (seen.get(invariant) ?? 0) + 1);
    return (seen.get(invariant) ?? 0) <= SHOWN_MAX;
  });
  const hidden = findings.length - shown.length;
  return [
    "",
    `Queue on ${report.backend}, ack ${report.ack}, groups ${report.groups ? "on" : "off"}, seed ${report.seed}, ${report.faultsMs / 1_000} s of faults`,
    ...columns(Object.entries(totals).map(([name, value]) => [name, String(value)])),
    "",
    ...columns(
      faults.map(({ id, title, scheduled, struck }) => [
        id,
        `${struck} strikes in ${scheduled} turns`,
        title,
      ]),
    ),
    "",
    ...shown.map(({ invariant, text }) => `BREACH ${invariant}: ${text}`),
    ...(hidden > 0 ? [`... and ${hidden} more`] : []),
    ...(folder === undefined ? [] : [`The logs are left in ${folder}`]),
    ok ? "All invariants hold" : "NOT ALL INVARIANTS HOLD",
    "",
  ].join("\n");
}

export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows.reduce<number[]>(
    (seen, row) => row.map((cell, index) => Math.max(cell.length, seen[index] ?? 0)),
    [],
  );
  return rows.map(
    (row) =>
      `  ${row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join("  ")
        .trimEnd()}`,
  );
}

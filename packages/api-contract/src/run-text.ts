import type { BulkRun } from "./bulk-runs.ts";

// It stands alone, so that the page gets it without the schemas.

/** What became of a run's events so far: `8,213 ran: 8,100 completed, 113 failed again (2 errors)`, or `8,213 given up`. */
export function runResult({
  verb,
  done,
  results,
  errors,
}: Pick<BulkRun, "verb" | "done" | "results" | "errors">): string {
  if (verb === "give_up") return `${number(done)} given up`;
  const { completed, failed, pending } = results;
  const parts = [`${number(completed)} completed`];
  if (failed > 0) {
    parts.push(`${number(failed)} failed again (${errors} ${errors === 1 ? "error" : "errors"})`);
  }
  if (pending > 0) parts.push(`${number(pending)} still pending`);
  return `${number(done)} ran: ${parts.join(", ")}`;
}

const number = (value: number): string => value.toLocaleString("en-US");

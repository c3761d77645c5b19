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

/** How long events take at a rate in events per second; the least time if there are `more` of them. */
export function timeText(count: number, rate: number, more: boolean): string {
  return `${more ? "more than" : "about"} ${durationOf((count / rate) * 1_000)}`;
}

/** A duration for people: `850 ms`, `2.4 s`, `1 min 5 s`, `3 h 12 min`. */
export function durationOf(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const number = (value: number): string => value.toLocaleString("en-US");

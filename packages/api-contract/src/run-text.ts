import type { BulkRun, BulkVerb } from "./bulk-runs.ts";

// This file imports types alone, so that the page gets it without the schemas.

/** Each verb as people read it, before and after, and the field that counts its events. */
export const VERB_WORDS = {
  retry: { verb: "retry", done: "retried", field: "retried" },
  replay: { verb: "replay", done: "replayed", field: "replayed" },
  give_up: { verb: "give up", done: "given up", field: "given_up" },
} as const satisfies Record<BulkVerb, unknown>;

/** A filter with what its verb adds. Pending events are retried only where that is asked for. */
export function filterOf<Filter extends { readonly status?: string | undefined }>(
  verb: BulkVerb,
  filter: Filter,
) {
  if (verb === "replay") return { ...filter, isDelayed: false };
  const isPending = verb === "give_up" || filter.status === "pending";
  const status = isPending ? ("pending" as const) : ("failed" as const);
  return { ...filter, status, isDelayed: verb === "retry" && isPending };
}

export const REASON_WORDS = {
  not_failed: "already completed, or queued again",
  not_settled: "pending: running or about to run",
  superseded: "a later generation exists",
  not_found: "not in the ledger, and not on the queue",
  unknown_source: "the config has no such source, so no worker would run it",
  only_in_queue:
    "only a failed job exists, and it could not be recorded: see the failure of the job",
  body_missing: "the body is no longer kept",
  not_pending: "already completed or failed",
  event_running: "the handler is running: try again when the attempt has ended",
} as const;
export type SkipReason = keyof typeof REASON_WORDS;

/** The name of someone who is on an error. On an open loopback nobody signs in. */
export const ownerName = ({ user, via }: { user: string | null; via: string }): string =>
  user ?? via;

/** The results of a run so far: `3 ran: 2 completed, 1 failed again (1 error)`, or `3 given up`. */
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
    parts.push(`${number(failed)} failed again (${countOf(errors, "error")})`);
  }
  if (pending > 0) parts.push(`${number(pending)} still pending`);
  return `${number(done)} ran: ${parts.join(", ")}`;
}

/** The time that events take at a rate per second; the least time if there are `more` of them. */
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

/** `1 event`, `2,000 events`. */
export const countOf = (count: number, noun: string): string =>
  `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/**
 * What the ledger should do, as a table of rows and a function for each of its operations. Nothing
 * here knows SQL: this is the state machine of the design, in as few words as it takes.
 */
export interface ModelRow {
  readonly status: "pending" | "completed" | "failed";
  readonly attempts: number;
  /** What `attempts` stood at when the event was last retried. */
  readonly atRetry: number;
  readonly failedRun: string | null;
  readonly enqueued: boolean;
  readonly waits: number;
  readonly due: boolean;
  /** What handlers wrote and committed: one of a completed event, none of any other. */
  readonly effects: number;
  readonly logged: readonly number[];
}

/** Rows by `<id> <generation>`. */
export type ModelRows = ReadonlyMap<string, ModelRow>;

/** What an operation answers, and the row that it writes, if any. */
export interface Step {
  readonly answer: unknown;
  readonly write?: { readonly key: string; readonly row: ModelRow };
}

const FRESH: ModelRow = {
  ...{ status: "pending", attempts: 0, atRetry: 0, failedRun: null, enqueued: false },
  ...{ waits: 0, due: false, effects: 0, logged: [] },
};

export const keyOf = (id: string, generation: number) => `${id} ${generation}`;
const writes = (key: string, row: ModelRow, answer: unknown): Step => ({
  answer,
  write: { key, row },
});

/** The latest generation of an id, or -1. */
export function latestOf(rows: ModelRows, id: string): number {
  const generations = [...rows.keys()].filter((key) => key.startsWith(`${id} `));
  return generations.length - 1;
}

export function accept(rows: ModelRows, id: string): Step {
  const row = rows.get(keyOf(id, 0));
  if (row === undefined) return writes(keyOf(id, 0), FRESH, "accepted");
  return { answer: row.status === "failed" ? "failed" : "duplicate" };
}

/** A job comes, with its body. */
export function record(rows: ModelRows, key: string, run: string): Step {
  const row = rows.get(key) ?? FRESH;
  if (row.status === "completed") return { answer: { kind: "completed" } };
  if (row.status === "failed" && row.failedRun === run) return { answer: { kind: "failed" } };
  const attempt = row.attempts + 1;
  const atRetry = row.status === "failed" ? row.attempts : row.atRetry;
  const answer = { kind: "claimed", attempt, attemptSinceRetry: attempt - atRetry };
  const claimed = { ...row, status: "pending", attempts: attempt, atRetry } as const;
  return writes(key, { ...claimed, failedRun: null, enqueued: true, due: false }, answer);
}

/** An attempt whose handler wrote its effect and came to its end. */
export function complete(rows: ModelRows, key: string, attempt: number): Step {
  const row = rows.get(key);
  if (row?.status !== "pending" || row.attempts !== attempt) return { answer: "lost" };
  const completed = { ...row, status: "completed", effects: row.effects + 1 } as const;
  return writes(key, completed, "completed");
}

export interface Failure {
  readonly attempt: number;
  readonly final: boolean;
  readonly counts: boolean;
  readonly waits: boolean;
  readonly run: string;
}

export function fail(rows: ModelRows, key: string, failure: Failure): Step {
  const row = rows.get(key);
  if (row === undefined || row.attempts !== failure.attempt) return { answer: "lost" };
  if (row.status === "completed") return { answer: "lost" };
  if (row.status === "failed") {
    return { answer: failure.final && row.failedRun === failure.run ? "recorded" : "lost" };
  }
  if (row.logged.includes(failure.attempt)) return { answer: failure.final ? "lost" : "recorded" };
  const atRetry = failure.counts ? row.atRetry : Math.min(row.atRetry + 1, row.attempts);
  const logged = [...row.logged, failure.attempt];
  const status = failure.final ? "failed" : "pending";
  const failedRun = failure.final ? failure.run : null;
  const waits = row.waits + (failure.waits ? 1 : 0);
  const due = !failure.final;
  return writes(key, { ...row, status, atRetry, waits, due, logged, failedRun }, "recorded");
}

export function abandonEvent(rows: ModelRows, key: string, run: string): Step {
  const row = rows.get(key);
  if (row === undefined) return { answer: "unknown" };
  if (row.status === "failed") return { answer: "already_failed" };
  if (row.status === "completed") return { answer: "completed" };
  const logged = row.logged.includes(row.attempts) ? row.logged : [...row.logged, row.attempts];
  return writes(key, { ...row, status: "failed", failedRun: run, due: false, logged }, "failed");
}

export function retry(rows: ModelRows, key: string): Step {
  const row = rows.get(key);
  if (row === undefined) return { answer: { kind: "not_found" } };
  if (row.status !== "failed") return { answer: { kind: row.status } };
  const pending = { ...row, status: "pending", atRetry: row.attempts } as const;
  return writes(key, { ...pending, failedRun: null, enqueued: false }, { kind: "retried" });
}

export function replay(rows: ModelRows, id: string): Step {
  const latest = latestOf(rows, id);
  const row = rows.get(keyOf(id, latest));
  if (row === undefined) return { answer: { kind: "not_found" } };
  if (row.status === "pending") return { answer: { kind: "not_settled" } };
  return writes(keyOf(id, latest + 1), FRESH, { kind: "replayed" });
}

export function markEnqueued(rows: ModelRows, key: string): Step {
  const row = rows.get(key);
  if (row?.status !== "pending") return { answer: undefined };
  return writes(key, { ...row, enqueued: true }, undefined);
}

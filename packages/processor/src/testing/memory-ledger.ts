import type {
  AttemptFailure,
  AttemptLimits,
  Claim,
  EventKey,
  HandlerTransaction,
  LockedEvent,
  QueuedEvent,
} from "@millrace/core";
import type { ClaimPort } from "../ports.ts";

/** An event's row as the real ledger would have it. */
export interface MemoryRow {
  status: "pending" | "completed" | "failed";
  attempts: number;
  sinceRetry: number;
  run: string;
  locked: boolean;
  outcome?: string;
  lastFailure?: AttemptFailure;
  readonly event: LockedEvent;
  /** What committed handlers wrote through their `tx`. */
  readonly writes: string[];
}

/** The `tx` that this ledger gives: it knows one method. */
export interface MemoryTx {
  write(text: string): void;
}

/** Writes through a memory ledger's transaction. */
export function write(tx: HandlerTransaction, text: string): void {
  (tx as unknown as MemoryTx).write(text);
}

/** A ledger in memory that keeps the port's promises: fence, undo, seal, guarded failures. */
export function createMemoryLedger(): MemoryLedger {
  const rows = new Map<string, MemoryRow>();
  const calls: QueuedEvent[][] = [];
  const faults: Faults = {};

  return {
    rows,
    calls,
    faults,
    row: (key) => rows.get(idOf(key)),
    async record(jobs) {
      await Promise.resolve();
      calls.push([...jobs]);
      faults.record?.(jobs);
      return jobs.map((job) => claim(rows, job));
    },
    async attempt(key, attempt, work, limits) {
      await Promise.resolve();
      faults.attempt?.(key);
      const row = rows.get(idOf(key));
      if (row === undefined || row.status !== "pending" || row.attempts !== attempt) return "lost";
      row.locked = true;
      const staged: string[] = [];
      const seal = { closed: false };
      try {
        row.outcome = await within(limits, work(transaction(staged, seal), row.event));
        faults.commit?.(key);
        row.writes.push(...staged);
        row.status = "completed";
        return "completed";
      } finally {
        seal.closed = true;
        row.locked = false;
      }
    },
    async fail(key, attempt, failure) {
      await Promise.resolve();
      faults.fail?.(key);
      const row = rows.get(idOf(key));
      if (row === undefined || row.status !== "pending" || row.attempts !== attempt) return "lost";
      row.lastFailure = failure;
      if (failure.final) row.status = "failed";
      if (!failure.counts) row.sinceRetry -= 1;
      return "recorded";
    },
  };
}

export interface MemoryLedger extends ClaimPort {
  readonly rows: ReadonlyMap<string, MemoryRow>;
  /** The jobs of every call of `record`. */
  readonly calls: readonly (readonly QueuedEvent[])[];
  /** Set one to make a step throw. */
  readonly faults: Faults;
  row(key: EventKey): MemoryRow | undefined;
}

interface Faults {
  record?: (jobs: readonly QueuedEvent[]) => void;
  attempt?: (key: EventKey) => void;
  commit?: (key: EventKey) => void;
  fail?: (key: EventKey) => void;
}

function claim(rows: Map<string, MemoryRow>, job: QueuedEvent): Claim {
  const row = rows.get(idOf(job.event));
  if (row === undefined && job.event.body === undefined) return { kind: "body_missing" };
  if (row === undefined) {
    const { headers, body = new Uint8Array() } = job.event;
    const event = { headers, body, suspectedReplay: false };
    rows.set(idOf(job.event), { ...NEW, run: job.run, event, writes: [] });
    return { kind: "claimed", attempt: 1, attemptSinceRetry: 1 };
  }
  if (row.locked) return { kind: "busy" };
  if (row.status === "completed") return { kind: "completed" };
  if (row.status === "failed") {
    const failure = row.lastFailure;
    if (failure !== undefined && failure.run === job.run) return { kind: "failed", ...failure };
    row.sinceRetry = 0;
  }
  row.status = "pending";
  row.attempts += 1;
  row.sinceRetry += 1;
  return { kind: "claimed", attempt: row.attempts, attemptSinceRetry: row.sinceRetry };
}

const NEW = { status: "pending", attempts: 1, sinceRetry: 1, locked: false } as const;

function idOf({ source, eventId, generation }: EventKey): string {
  return `${source} ${generation} ${eventId}`;
}

function transaction(staged: string[], seal: { closed: boolean }): HandlerTransaction {
  const tx: MemoryTx = {
    write(text) {
      if (seal.closed) throw new Error("tx_closed");
      staged.push(text);
    },
  };
  return tx as unknown as HandlerTransaction;
}

async function within<T>({ signal }: AttemptLimits, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let leave = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

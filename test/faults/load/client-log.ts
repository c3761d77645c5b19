import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { PlannedEvent } from "./plan.ts";

/** One request and what came of it. */
export interface Attempt {
  readonly event: PlannedEvent;
  readonly ingress: string;
  readonly startedMs: number;
  readonly tookMs: number;
  /** The answer's status, or the error code of a connection that gave none. */
  readonly answer: number | string;
  readonly retryAfter: string | undefined;
}

/** All that the senders did of one event. */
export interface Account {
  readonly event: PlannedEvent;
  attempts: number;
  acknowledged: number;
}

/** What the senders have seen. */
export interface ClientLog {
  readonly accounts: ReadonlyMap<string, Account>;
  readonly attempts: number;
  readonly acknowledged: number;
  readonly slowestMs: number;
  /** How long each attempt took, in the order of their ends. */
  readonly times: readonly Pick<Attempt, "event" | "startedMs" | "tookMs">[];
  /** Attempts that were not answered as an ingress that works answers. */
  readonly unusual: readonly Attempt[];
  add(attempt: Attempt): void;
  close(): Promise<void>;
}

/** The key of an event, as every check uses it. */
export function keyOf(event: { source: string; id: string }): string {
  return `${event.source}/${event.id}`;
}

export function isAcknowledged(answer: number | string): boolean {
  return typeof answer === "number" && answer >= 200 && answer < 300;
}

/** Keeps every attempt: in a file, one JSON line each, and summed up in memory. */
export function createClientLog(file: string): ClientLog {
  const lines = createWriteStream(file);
  const accounts = new Map<string, Account>();
  const unusual: Attempt[] = [];
  const times: Pick<Attempt, "event" | "startedMs" | "tookMs">[] = [];
  let attempts = 0;
  let acknowledged = 0;
  let slowestMs = 0;
  return {
    accounts,
    unusual,
    times,
    get attempts() {
      return attempts;
    },
    get acknowledged() {
      return acknowledged;
    },
    get slowestMs() {
      return slowestMs;
    },
    add: (attempt) => {
      const { event, ...seen } = attempt;
      lines.write(`${JSON.stringify([Date.now(), event.source, event.id, seen])}\n`);
      const account = accounts.get(keyOf(event)) ?? { event, attempts: 0, acknowledged: 0 };
      accounts.set(keyOf(event), account);
      times.push({ event, startedMs: attempt.startedMs, tookMs: attempt.tookMs });
      attempts += 1;
      account.attempts += 1;
      slowestMs = Math.max(slowestMs, attempt.tookMs);
      if (isAcknowledged(attempt.answer)) {
        acknowledged += 1;
        account.acknowledged += 1;
      }
      if (!isAcknowledged(attempt.answer) || attempt.tookMs > 1_000) unusual.push(attempt);
    },
    close: async () => {
      lines.end();
      await finished(lines);
    },
  };
}

import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { PlannedEvent } from "./plan.ts";

export interface Attempt {
  readonly event: PlannedEvent;
  readonly ingress: string;
  readonly startedMs: number;
  readonly tookMs: number;
  readonly answer: number | string;
  readonly retryAfter: string | undefined;
}

export interface Account {
  readonly event: PlannedEvent;
  attempts: number;
  acknowledged: number;
}

export type ClientLog = ReturnType<typeof createClientLog>;

export function keyOf(event: { source: string; id: string }): string {
  return `${event.source}/${event.id}`;
}

export function isAcknowledged(answer: number | string): boolean {
  return typeof answer === "number" && answer >= 200 && answer < 300;
}

export function createClientLog(file: string) {
  const lines = createWriteStream(file);
  const accounts = new Map<string, Account>();
  const unusual: Attempt[] = [];
  const times: Pick<Attempt, "event" | "startedMs" | "tookMs">[] = [];
  let attempts = 0;
  let acknowledged = 0;
  let slowestMs = 0;
  return {
    accounts: accounts as ReadonlyMap<string, Account>,
    unusual: unusual as readonly Attempt[],
    times: times as readonly Pick<Attempt, "event" | "startedMs" | "tookMs">[],
    get attempts(): number {
      return attempts;
    },
    get acknowledged(): number {
      return acknowledged;
    },
    get slowestMs(): number {
      return slowestMs;
    },
    add: (attempt: Attempt) => {
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

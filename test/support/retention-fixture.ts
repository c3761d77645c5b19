import type { EventKey } from "@millrace/core";
import { createRetentionLedger, type BodyPartition, type RetentionLedger } from "@millrace/ledger";
import { age, makeDay, type Database } from "./aged-events.ts";
import { anEvent, keyOf } from "./events.ts";
import {
  claim,
  complete,
  failure,
  openTestLedger,
  untilBlocked,
  type TestLedger,
} from "./ledger-fixture.ts";

/** A ledger with events of other days. */
export interface TestRetention extends TestLedger {
  /** Waits 300 ms for those who use what it drops. */
  readonly retention: RetentionLedger;
  /** Makes an event as if it had come so long ago, and had become this on that day. */
  event(status: "pending" | "completed" | "failed", daysAgo?: number): Promise<EventKey>;
  settle(key: EventKey, attempt: number, status: "completed" | "failed"): Promise<void>;
  age(key: EventKey, days: number): Promise<void>;
  /** Lets days go by for every event. */
  ageAll(days: number): Promise<void>;
  makeDay(daysAgo: number): Promise<string>;
  bodyOf(key: EventKey): Promise<Uint8Array | undefined>;
  /** The partition of that many days ago. */
  partition(daysAgo: number): Promise<BodyPartition>;
  /** Runs what one process does at a time; the lock of the one before may be let go of a moment late. */
  untilAlone<T extends { kind: string }>(run: () => Promise<T>): Promise<T>;
  /** Waits until that many connections wait for another one. */
  untilBlocked(count?: number): Promise<unknown>;
}

export async function openTestRetention(): Promise<TestRetention> {
  const it = await openTestLedger({ max: 10 });
  const { ledger, ask } = it;
  const retention = createRetentionLedger({ pool: it.pool }, { dropWaitMs: 300 });
  const database: Database = { query: async (text, values) => ({ rows: await ask(text, values) }) };

  async function settle(key: EventKey, attempt: number, status: "completed" | "failed") {
    if (status === "failed") await ledger.claims.fail(key, attempt, { ...failure, final: true });
    else await complete(ledger, { ...anEvent(), ...key }, attempt);
  }

  return {
    ...it,
    retention,
    settle,
    async event(status, daysAgo = 0) {
      const incoming = anEvent();
      const key = keyOf(incoming);
      if (status === "pending") await ledger.intake.accept([incoming]);
      else await settle(key, await claim(ledger, incoming), status);
      if (daysAgo > 0) await age(database, daysAgo, key.eventId);
      return key;
    },
    age: (key, days) => age(database, days, key.eventId),
    ageAll: (days) => age(database, days),
    makeDay: (daysAgo) => makeDay(database, daysAgo),
    bodyOf: async (key) => (await ledger.reads.findEvent(key))?.body,
    async partition(daysAgo) {
      const found = (await retention.partitions()).find(({ ageDays }) => ageDays === daysAgo);
      if (found === undefined) throw new Error(`Cannot find the partition of ${daysAgo} days ago`);
      return found;
    },
    async untilAlone(run) {
      const deadline = Date.now() + 10_000;
      for (;;) {
        const answer = await run();
        if (answer.kind !== "taken" || Date.now() > deadline) return answer;
      }
    },
    untilBlocked: (count) => untilBlocked(it, count),
  };
}

import type { EventKey } from "@millrace/core";
import { createRetentionLedger } from "@millrace/ledger";
import { age, makeDay, type Database } from "./aged-events.ts";
import { anEvent, keyOf } from "./events.ts";
import { failure, openTestLedger } from "./ledger-fixture.ts";

export async function openTestRetention() {
  const it = await openTestLedger({ max: 10 });
  const { ledger, ask } = it;
  const retention = createRetentionLedger({ pool: it.pool }, { dropWaitMs: 300 });
  const database: Database = { query: async (text, values) => ({ rows: await ask(text, values) }) };

  async function settle(key: EventKey, attempt: number, status: "completed" | "failed") {
    if (status === "failed") await ledger.claims.fail(key, attempt, { ...failure, final: true });
    else await it.complete({ ...anEvent(), ...key }, attempt);
  }

  return {
    ...it,
    retention,
    settle,
    async event(status: "pending" | "completed" | "failed", daysAgo = 0): Promise<EventKey> {
      const incoming = anEvent();
      const key = keyOf(incoming);
      if (status === "pending") await ledger.intake.accept([incoming]);
      else await settle(key, await it.claim(incoming), status);
      if (daysAgo > 0) await age(database, daysAgo, key.eventId);
      return key;
    },
    age: (key: EventKey, days: number) => age(database, days, key.eventId),
    ageAll: (days: number) => age(database, days),
    makeDay: (daysAgo: number) => makeDay(database, daysAgo),
    bodyOf: async (key: EventKey) => (await ledger.reads.findEvent(key))?.body,
    async partition(daysAgo: number) {
      const found = (await retention.partitions()).find(({ ageDays }) => ageDays === daysAgo);
      if (found === undefined) throw new Error(`Cannot find the partition of ${daysAgo} days ago`);
      return found;
    },
    async untilAlone<T extends { kind: string }>(run: () => Promise<T>): Promise<T> {
      const deadline = Date.now() + 10_000;
      for (;;) {
        const answer = await run();
        if (answer.kind !== "taken" || Date.now() > deadline) return answer;
      }
    },
    untilBlocked: (count?: number) => it.untilBlocked(count),
  };
}

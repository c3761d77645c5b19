import { setTimeout as sleep } from "node:timers/promises";
import type { EventKey } from "@millrace/core";
import { runRetention } from "@millrace/operations";
import { sql } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import { failure, patient } from "../support/ledger-fixture.ts";
import { openTestRetention, type TestRetention } from "../support/retention-fixture.ts";

let it: TestRetention;
beforeEach(async () => {
  it = await openTestRetention();
  await it.ask("CREATE TABLE effects (event_id text, generation int, body bytea)");
});
afterEach(() => it.close());

const WORKERS = 4;

/** Runs an event to its end, as a worker does when it is told to come again. */
async function work(key: EventKey): Promise<void> {
  for (let tries = 0; tries < 200; tries += 1) {
    const job = aJob({ ...anEvent(), ...key, body: undefined, headers: {} }, `run-${tries}`);
    const [claimed] = await it.ledger.claims.record([job]);
    if (claimed?.kind === "completed") return;
    if (claimed?.kind === "claimed" && (await attempt(key, claimed.attempt))) return;
    if (claimed?.kind !== "busy" && claimed?.kind !== "claimed") {
      throw new Error(`Cannot work on ${key.eventId}: ${JSON.stringify(claimed)}`);
    }
    // Another holds the row, or the attempt failed and is made again.
    await sleep(5);
  }
  throw new Error(`Cannot work on ${key.eventId}: it is busy for ever`);
}

/** One attempt in three throws when it has written, and is undone. */
async function attempt(key: EventKey, number: number): Promise<boolean> {
  try {
    const end = await it.ledger.claims.attempt(
      key,
      number,
      async (tx, { body }) => {
        const bytes = Buffer.from(body).toString("hex");
        await tx.execute(
          sql`INSERT INTO effects VALUES (${key.eventId}, ${key.generation}, decode(${bytes}, 'hex'))`,
        );
        await tx.execute(sql`SELECT pg_sleep(0.02)`);
        if (number % 3 === 1) throw new Error("the switch is off");
        return "handled";
      },
      patient(),
    );
    return end === "completed";
  } catch (error) {
    if (!(error instanceof Error) || error.message !== "the switch is off") throw error;
    await it.ledger.claims.fail(key, number, failure);
    return false;
  }
}

test("Workers, retries and replays go on while bodies are moved and dropped under them", async () => {
  const tasks: (() => Promise<EventKey>)[] = [];
  const settledAlready = new Set<string>();
  for (let n = 0; n < 20; n += 1) {
    const [pending, failed, done] = [
      await it.event("pending", 31 + (n % 4)),
      await it.event("failed", 31 + (n % 4)),
      await it.event("completed", 31 + (n % 4)),
    ];
    const young = anEvent();
    settledAlready.add(done.eventId);
    tasks.push(
      () => Promise.resolve(pending),
      async () => {
        expect(await it.ledger.retries.retryMany([failed])).toMatchObject([{ kind: "retried" }]);
        return failed;
      },
      async () => {
        const [answer] = await it.ledger.retries.replay([done]);
        // Its body may have been dropped by now, which is the only excuse.
        return answer?.kind === "replayed" ? { ...done, generation: 1 } : done;
      },
      async () => {
        await it.ledger.intake.accept([young]);
        return keyOf(young);
      },
    );
  }
  const worked: EventKey[] = [];
  let isOver = false;
  const runs: string[] = [];
  const retaining = (async () => {
    while (!isOver) {
      const policy = { bodiesDays: 30, keysDays: 90 };
      const ran = await runRetention({ ledger: it.retention, notify: () => {} }, policy);
      runs.push(ran.kind);
    }
  })();
  const queue = tasks.values();
  await Promise.all(
    Array.from({ length: WORKERS }, async () => {
      for (const task of queue) {
        const key = await task();
        worked.push(key);
        await work(key);
      }
    }),
  );
  isOver = true;
  await retaining;
  expect(runs).toContain("done");
  await it.untilAlone(() =>
    runRetention({ ledger: it.retention, notify: () => {} }, { bodiesDays: 30, keysDays: 90 }),
  );

  expect(await it.ask("SELECT FROM millrace.events WHERE status <> 'completed'")).toEqual([]);
  const effects = await it.ask<{ event_id: string; generation: number; body: Buffer }>(
    "SELECT * FROM effects",
  );
  const fresh = worked.filter((key) => key.generation > 0 || !settledAlready.has(key.eventId));
  const name = (eventId: string, generation: number) => `${eventId}/${generation}`;
  expect(effects.map((row) => name(row.event_id, row.generation)).toSorted()).toEqual(
    fresh.map((key) => name(key.eventId, key.generation)).toSorted(),
  );
  for (const { event_id, body } of effects) {
    expect(JSON.parse(body.toString())).toMatchObject({ id: event_id });
  }
  expect((await it.retention.partitions())[0]?.ageDays).toBe(0);
});

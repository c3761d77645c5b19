import type { AttemptFailure, EventKey } from "@millrace/core";
import { createLedger, type Ledger } from "@millrace/ledger";
import type pg from "pg";
import { beforeEach, afterEach, expect, test } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { aJob, anEvent, keyOf } from "../support/events.ts";
import { claim, failure, testPool, useLedger } from "../support/ledger-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = useLedger();
const proxy = openForEach(() => startTcpProxy(it.url));
let pool: pg.Pool;
let ledger: Ledger;
beforeEach(() => {
  pool = testPool(proxy.url, 3);
  ledger = createLedger({ pool });
});
afterEach(() => pool.end());

async function failUnanswered(event: EventKey, attempt: number, failed: AttemptFailure) {
  proxy.cutAfter("COMMIT");
  const answer = ledger.claims.fail(keyOf(event), attempt, failed);
  await expect(answer).rejects.toMatchObject({ code: "database_unavailable" });
  expect(proxy.struck).toBe(1);
}

const setWaits = ({ eventId }: EventKey, waits: number) =>
  it.ask("update millrace.events set waits = $2 where event_id = $1", [eventId, waits]);

test("A last failure whose answer was lost is recorded again as the same, and stays failed in its run", async () => {
  const event = anEvent();
  const number = await claim(ledger, event, "run-1");
  const details = { fingerprint: "1-once", title: "Error: no", stack: [], log: [], logDropped: 0 };
  const last = { ...failure, final: true, run: "run-1", details };
  await failUnanswered(event, number, last);
  await until(async () => (await it.statusOf(event)) === "failed");
  expect(await ledger.claims.fail(keyOf(event), number, last)).toBe("recorded");
  expect(await ledger.claims.fail(keyOf(event), number, { ...last, run: "run-2" })).toBe("lost");
  expect((await it.ledger.reads.findEvent(event))?.attempt_log).toHaveLength(1);
  expect(await it.ledger.errors.get("1-once")).toMatchObject({ attempts: 1, failed: 1 });
});

test("A failure that does not count and whose answer was lost gives one attempt back, not two", async () => {
  const event = anEvent();
  await claim(ledger, event);
  await ledger.claims.fail(keyOf(event), 1, failure);
  await claim(ledger, event);
  const fault = { ...failure, code: "database_unavailable", counts: false } as const;
  await failUnanswered(event, 2, fault);
  await until(async () => (await it.ledger.reads.findEvent(event))?.attempt_log.length === 2);
  expect(await ledger.claims.fail(keyOf(event), 2, fault)).toBe("recorded");
  expect(await ledger.claims.record([aJob(event)])).toMatchObject([
    { kind: "claimed", attempt: 3, attemptSinceRetry: 2 },
  ]);
});

test.each([
  [0, 1],
  [100, 0],
])("A wait after %i others whose answer was lost is recorded once", async (waits, logged) => {
  const event = anEvent();
  await claim(ledger, event);
  await setWaits(event, waits);
  const wait = { ...failure, code: "retry_later", counts: false } as const;
  await failUnanswered(event, 1, wait);
  const row = async () => {
    const columns = "waits, attempts_at_retry, next_attempt_at::text AS due";
    const text = `select ${columns} from millrace.events where event_id = $1`;
    return (await it.ask<{ waits: number; due: string | null }>(text, [event.eventId]))[0];
  };
  const recorded = await until(async () => {
    const found = await row();
    return found?.due === null ? undefined : found;
  });
  expect(recorded).toMatchObject({ waits: waits + 1, attempts_at_retry: 1 });
  expect(await ledger.claims.fail(keyOf(event), 1, wait)).toBe("recorded");
  expect(await row()).toEqual(recorded);
  expect((await it.ledger.reads.findEvent(event))?.attempt_log).toHaveLength(logged);
});

test("A stale wait of an event that was given up and retried changes nothing, logged or not", async () => {
  const wait = { ...failure, code: "retry_later", counts: false } as const;
  for (const waits of [0, 100]) {
    const event = anEvent();
    await claim(ledger, event);
    await setWaits(event, waits);
    const reason = { code: "gave_up", message: "stalled", run: "run-1" } as const;
    await ledger.repair.abandonEvent(keyOf(event), reason);
    await ledger.retries.retryMany([keyOf(event)]);
    await ledger.claims.fail(keyOf(event), 1, wait);
    const text = "select waits, next_attempt_at from millrace.events where event_id = $1";
    expect(await it.ask(text, [event.eventId])).toEqual([{ waits, next_attempt_at: null }]);
  }
});

test("A late failure changes nothing of an event that has completed, or was given up", async () => {
  const completed = anEvent();
  await it.complete(completed);
  const givenUp = anEvent();
  await claim(ledger, givenUp);
  const reason = { code: "gave_up", message: "stalled", run: "run-1" } as const;
  await ledger.repair.abandonEvent(keyOf(givenUp), reason);
  for (const [event, status] of [
    [completed, "completed"],
    [givenUp, "failed"],
  ] as const) {
    expect(await ledger.claims.fail(keyOf(event), 1, failure)).toBe("lost");
    expect(await it.statusOf(event)).toBe(status);
  }
});

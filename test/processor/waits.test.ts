import { RetryLater, type HandlerFunction, type JobResult } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { effect, repeatJob, thenThrow, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

async function rowOf(eventId: string) {
  const [row] = await processors.ask<Record<string, unknown> & { due_ms: number | null }>(
    `select status, attempts, waits, attempts - attempts_at_retry as charged,
       last_error as error, (extract(epoch from next_attempt_at - clock_timestamp()) * 1000)::float8 as due_ms
     from millrace.events where event_id = $1`,
    [eventId],
  );
  return row;
}

const logOf = (eventId: string) =>
  processors.ask<{ attempt: number; code: string; counted: boolean }>(
    "select attempt, code, counted from millrace.attempts where event_id = $1 order by attempt",
    [eventId],
  );

const passes = (eventId: string, seconds: number) =>
  processors.ask(
    "update millrace.events set pending_since = pending_since - make_interval(secs => $2) where event_id = $1",
    [eventId, seconds],
  );

const wait = (reason = "Not packed yet", afterMs = 5_000) => new RetryLater({ afterMs, reason });

const inTurn = (...thrown: readonly unknown[]): HandlerFunction => {
  let run = 0;
  return async (event, context) => {
    await effect(event, context);
    run += 1;
    if (run <= thrown.length) throw thrown[run - 1];
  };
};

const afterMsOf = (result: JobResult) => ("afterMs" in result ? result.afterMs : undefined);

test.each([
  ["recorded before it is attempted", false],
  ["attempted first", true],
])(
  "an event that waits more often than its source has attempts completes, %s",
  async (_, groups) => {
    const turns = inTurn(wait(), wait(), wait());
    const repeated = repeatJob(processors, turns, { attempts: 3, groups });
    const { processor, job, eventId, effects } = repeated;
    const next = (run: number) =>
      processor.process({ ...job, run: `run-${run}`, startedBefore: run > 1 });
    for (const waits of [1, 2, 3]) {
      expect(await next(waits)).toEqual({
        ...{ kind: "retry", afterMs: 5_000, code: "retry_later", recorded: true },
        message: "RetryLater: Not packed yet",
      });
      expect(await rowOf(eventId)).toMatchObject({ status: "pending", waits, charged: 0 });
    }
    expect(await next(4)).toMatchObject({ kind: "completed" });
    expect(await rowOf(eventId)).toMatchObject({ status: "completed", attempts: 4, waits: 3 });
    expect(await effects()).toBe(1);
    expect(await logOf(eventId)).toEqual(
      [1, 2, 3].map((attempt) => ({ attempt, code: "retry_later", counted: false })),
    );
  },
);

test("failures between waits are counted, with the backoff of as many failures", async () => {
  const broken = new Error("broken");
  const { next } = repeatJob(processors, inTurn(wait(), broken, wait(), broken, wait(), broken), {
    attempts: 3,
  });
  const results: JobResult[] = [];
  for (let run = 0; run < 6; run += 1) results.push(await next());
  expect(results.map(afterMsOf)).toEqual([5_000, 2_000, 5_000, 6_000, 5_000, undefined]);
  expect(results.at(-1)?.kind).toBe("failed");
});

test("an event that has waited for waitMaxMs fails, and a longer wait is cut to end there", async () => {
  const { next, eventId } = repeatJob(processors, thenThrow(wait("Not yet", 40_000)), {
    attempts: 1,
    waitMaxMs: 60_000,
  });
  expect(afterMsOf(await next())).toBe(40_000);
  await passes(eventId, 40);
  const last = afterMsOf(await next());
  expect(last).toBeGreaterThan(10_000);
  expect(last).toBeLessThanOrEqual(20_000);
  await passes(eventId, 20);
  expect(await next("run-last")).toMatchObject({ kind: "failed", code: "waited_too_long" });
  const error = expect.stringMatching(/60000 ms of waitMaxMs \(cause: RetryLater: Not yet\)$/);
  expect(await rowOf(eventId)).toMatchObject({
    status: "failed",
    attempts: 3,
    due_ms: null,
    error,
  });
  // The same run of the queue again, because it was not told.
  expect(await next("run-last")).toMatchObject({ kind: "failed", code: "waited_too_long" });
  expect(await rowOf(eventId)).toMatchObject({ attempts: 3 });
});

test("an event that is run again after it waited too long may wait as long again", async () => {
  const { next, eventId } = repeatJob(processors, thenThrow(wait()), { waitMaxMs: 60_000 });
  await next();
  await passes(eventId, 60);
  expect(await next()).toMatchObject({ code: "waited_too_long" });
  expect(await next()).toMatchObject({ kind: "retry", code: "retry_later", afterMs: 5_000 });
  await passes(eventId, 60);
  expect(await next()).toMatchObject({ code: "waited_too_long" });
  const key = { source: "shop", eventId, generation: 0 };
  expect(await processors.ledger.retries.retryMany([key])).toMatchObject([{ kind: "retried" }]);
  expect(await rowOf(eventId)).toMatchObject({ status: "pending", due_ms: null });
  expect(await next()).toMatchObject({ kind: "retry", code: "retry_later", afterMs: 5_000 });
});

test("sixty waits leave the database's fifty to the event", async () => {
  const deadlock = Object.assign(new Error("deadlock"), { code: "40P01", severity: "ERROR" });
  const waits = Array.from({ length: 60 }, () => wait());
  const { next, eventId } = repeatJob(processors, inTurn(...waits, ...Array(100).fill(deadlock)), {
    attempts: 3,
  });
  for (let run = 0; run < 60; run += 1) expect(await next()).toMatchObject({ code: "retry_later" });
  let end = await next();
  expect(afterMsOf(end)).toBe(1_000);
  for (let run = 0; run < 100 && end.kind === "retry"; run += 1) end = await next();
  expect(end).toMatchObject({ kind: "failed", code: "database_unavailable" });
  expect(await rowOf(eventId)).toMatchObject({ attempts: 60 + 53, waits: 60 });
});

test("the row says when the next attempt is due, and nothing while one runs or when the event has settled", async () => {
  const deadlock = Object.assign(new Error("deadlock"), { code: "40P01", severity: "ERROR" });
  const seen: unknown[] = [];
  const turns = inTurn(new Error("broken"), wait("Not yet", 3_600_000), deadlock);
  const { next, eventId } = repeatJob(processors, async (event, context) => {
    const found = await context.tx.execute(
      sql`select next_attempt_at from millrace.events where event_id = ${event.id}`,
    );
    seen.push(found.rows[0]?.["next_attempt_at"]);
    await turns(event, context);
  });
  for (const afterMs of [2_000, 3_600_000, 1_000]) {
    expect(afterMsOf(await next())).toBe(afterMs);
    const { due_ms: dueMs } = (await rowOf(eventId)) ?? {};
    expect(dueMs).toBeLessThanOrEqual(afterMs);
    expect(dueMs).toBeGreaterThan(afterMs - 10_000);
  }
  expect(await next()).toMatchObject({ kind: "completed" });
  expect(await rowOf(eventId)).toMatchObject({ status: "completed", due_ms: null });
  expect(seen).toEqual([null, null, null, null]);
});

test("an event that was due and completes in its first attempt is due no longer", async () => {
  const { processor, job, eventId } = repeatJob(processors, effect, { groups: true });
  await processors.accept(job);
  await processors.ask("update millrace.events set next_attempt_at = now() where event_id = $1", [
    eventId,
  ]);
  expect(await processor.process({ ...job, startedBefore: false })).toMatchObject({
    kind: "completed",
  });
  expect(await rowOf(eventId)).toMatchObject({ status: "completed", attempts: 1, due_ms: null });
});

test.each([
  [0, 1_000],
  [77, 1_000],
  [-5, 1_000],
  [1_500.4, 1_501],
  [Number.NaN, 60_000],
  ["soon", 60_000],
  [Infinity, 259_200_000],
])("a wait of %s ms from another copy of the module becomes %s ms", async (given, afterMs) => {
  const foreign = { [Symbol.for("millrace.retry-later")]: true, afterMs: given };
  const waited = { kind: "retry", code: "retry_later", afterMs };
  expect(await repeatJob(processors, thenThrow(foreign)).next()).toMatchObject(waited);
});

import type { HandlerFunction } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { createGate, effect, makeJob, prepare, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

const first = (after: HandlerFunction = () => {}, over: Parameters<typeof makeJob>[0] = {}) =>
  prepare(
    processors,
    async (event, context) => {
      await effect(event, context);
      await after(event, context);
    },
    { groups: true },
    { startedBefore: false, ...over },
  );

test("an event is written once, as completed, in the transaction of its handlers", async () => {
  const { process, row, eventId } = first();
  expect(await process()).toEqual({ kind: "completed", outcome: "handled" });
  expect(await row()).toMatchObject({ status: "completed", attempts: 1, outcome: "handled" });
  const [xids] = await processors.ask<{ same: boolean }>(
    `select e.xmin::text = f.xmin::text as same
     from millrace.events e join effects f using (event_id) where event_id = $1`,
    [eventId],
  );
  expect(xids?.same).toBe(true);
});

test.each([
  { end: "completes", result: { kind: "completed", outcome: "handled" }, left: 1 },
  { end: "fails", result: { kind: "retry", code: "handler_failed", recorded: true }, left: 0 },
])(
  "an attempt that still runs after 250 ms is seen as pending, and then $end as that attempt, counted once",
  async ({ end, result, left }) => {
    const { pass, open } = createGate();
    const { process, row, effects } = first(async () => {
      await pass();
      if (end === "fails") throw new Error("too late");
    });
    const running = process();
    expect(await until(row)).toMatchObject({ status: "pending", attempts: 1 });
    expect(await effects()).toBe(0);
    open();
    expect(await running).toMatchObject(result);
    const status = end === "fails" ? "pending" : "completed";
    expect(await row()).toMatchObject({ status, attempts: 1 });
    expect(await effects()).toBe(left);
  },
);

test("an event that is seen as pending is busy for another worker", async () => {
  const { pass, open } = createGate();
  const { process, row, job, effects } = first(pass);
  const result = process();
  await until(row);
  const other = first();
  expect(await other.processor.process({ ...job, startedBefore: true })).toMatchObject({
    kind: "lost",
  });
  open();
  expect(await result).toMatchObject({ kind: "completed" });
  expect(await effects()).toBe(1);
});

test("a worker of an earlier build that claims the event meanwhile wins, and nothing is doubled", async () => {
  const { pass, open } = createGate();
  let runs = 0;
  const { process, row, effects, eventId } = first(async () => {
    runs += 1;
    if (runs === 1) await pass();
  });
  const result = process();
  await until(row);
  // It knows nothing of the lock on the identity.
  await processors.ask(
    "update millrace.events set attempts = 2, started_at = now() where event_id = $1",
    [eventId],
  );
  open();
  expect(await result).toMatchObject({ kind: "completed" });
  expect(runs).toBe(2);
  expect(await row()).toMatchObject({ status: "completed", attempts: 3 });
  expect(await effects()).toBe(1);
});

test("an event that another connection records while it runs alone is undone, and runs again", async () => {
  let runs = 0;
  const { process, job, row, effects } = first(async () => {
    runs += 1;
    if (runs === 1) await processors.accept(job);
  });
  expect(await process()).toMatchObject({ kind: "completed" });
  expect([runs, await effects()]).toEqual([2, 1]);
  expect(await row()).toMatchObject({ status: "completed", attempts: 2 });
});

test("a job that was started before is recorded before it is attempted, as the next attempt, uncharged", async () => {
  const { process, effects, eventId } = first(() => {}, { startedBefore: true });
  expect(await process()).toMatchObject({ kind: "completed" });
  expect((await processors.row(eventId))?.attempts).toBe(2);
  expect(await processors.charged(eventId)).toBe(1);
  expect(await effects()).toBe(1);
});

test("a replay whose job starts twice has one attempt: its handlers run only after a record", async () => {
  const { process, processor, eventId } = first();
  await process();
  await processors.ledger.retries.replay([{ source: "shop", eventId, generation: 0 }]);
  const again = makeJob({ eventId, generation: 1, body: undefined, startedBefore: true });
  expect(await processor.process(again)).toMatchObject({ kind: "completed" });
  const attempts = await processors.ask(
    "select attempts from millrace.events where event_id = $1 order by generation",
    [eventId],
  );
  expect(attempts).toEqual([{ attempts: 1 }, { attempts: 1 }]);
});

test("a failed attempt is recorded, although another connection holds its row for a moment", async () => {
  const holder = await processors.connect();
  let records = 0;
  const record = async () => {
    records += 1;
    const hold = "begin; select from millrace.events for update";
    await holder.query(records === 1 ? hold : "rollback");
  };
  const { processor, job, row } = prepare(
    processors,
    () => Promise.reject(new Error("no")),
    { groups: true, before: { record } },
    { startedBefore: false },
  );
  await processors.accept(job);
  const event = { ...job.event, body: undefined };
  expect(await processor.process({ ...job, event })).toMatchObject({
    kind: "retry",
    code: "handler_failed",
  });
  holder.release();
  expect(records).toBe(2);
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
});

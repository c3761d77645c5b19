import { MillraceError, on, PermanentError, type EventJob } from "@millrace/core";
import { sql } from "drizzle-orm";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { messagesOf } from "../support/ledger-fixture.ts";
import { effect, makeJob, repeatJob, thenThrow, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

test("a failing handler is undone, recorded and tried again, until its last attempt fails it", async () => {
  const { next, row, effects } = repeatJob(processors, thenThrow(new TypeError("broken")));
  const failure = { code: "handler_failed", message: "TypeError: broken", recorded: true };
  expect(await next()).toEqual({ kind: "retry", afterMs: 2_000, ...failure });
  expect(await row()).toMatchObject({ status: "pending", attempts: 1 });
  expect(await next()).toMatchObject({ kind: "retry", afterMs: 6_000 });
  expect(await next()).toEqual({ kind: "failed", ...failure });
  expect(await row()).toMatchObject({ status: "failed", attempts: 3 });
  expect(await effects()).toBe(0);
});

test("an event is failed without an attempt only when its job is refused", async () => {
  let abandoned = 0;
  const before = { abandonEvent: () => (abandoned += 1) };
  const failing = repeatJob(processors, thenThrow(new PermanentError("no")), { before });
  expect(await failing.next("run-1")).toMatchObject({ kind: "failed", recorded: true });
  expect(await failing.next("run-1")).toMatchObject({ kind: "failed", recorded: true });
  expect(await repeatJob(processors, effect, { before }).next()).toMatchObject({
    kind: "completed",
  });
  expect(abandoned).toBe(0);
  const unknown = makeJob({ source: "nobody" });
  expect(await failing.processor.process(unknown)).toMatchObject({ code: "unknown_source" });
  expect(abandoned).toBe(1);
});

test("attempts that died with their workers use the policy up", async () => {
  const { next, row, claimElsewhere } = repeatJob(processors, thenThrow(new Error("no")), {
    attempts: 2,
  });
  await next();
  await claimElsewhere();
  expect(await next()).toMatchObject({ kind: "failed", code: "attempts_exhausted" });
  expect(await row()).toMatchObject({
    status: "failed",
    last_error: expect.stringContaining("2 attempts"),
  });
});

test("PermanentError fails the event at once, also from another copy of the module", async () => {
  const own = new PermanentError("no such user");
  const foreign = Object.assign(new Error("foreign"), {
    [Symbol.for("millrace.permanent-error")]: true,
  });
  for (const error of [own, foreign]) {
    const failed = { kind: "failed", code: "permanent_error", message: String(error) };
    expect(await repeatJob(processors, thenThrow(error)).next()).toMatchObject(failed);
  }
});

test.each([
  ["shutting_down", "handler_failed"],
  ["tx_closed", "tx_closed"],
] as const)(
  "a handler's own MillraceError does not choose the code, except for its misuse of tx: %s",
  async (own, code) => {
    const { next } = repeatJob(processors, thenThrow(new MillraceError(own, "x")));
    expect(await next()).toMatchObject({ code });
  },
);

test("a stale worker whose handler failed does not fail an event that another has claimed", async () => {
  const { next, row, notices, claimElsewhere } = repeatJob(
    processors,
    thenThrow(new PermanentError("stale")),
    { before: { fail: () => claimElsewhere() } },
  );
  expect(await next()).toEqual({ kind: "lost", afterMs: 5_000 });
  expect((await row())?.status).toBe("pending");
  expect(notices.some(({ kind }) => kind === "attempt_failed")).toBe(false);
});

test("the body of an event that was new is not read back; of a known one, the first body counts", async () => {
  const bodies: string[] = [];
  const handler = on("shop", "*", ({ body }) => void bodies.push(Buffer.from(body).toString()));
  const processor = processors.create([handler]);
  const process = async (job: EventJob) => {
    const messages = await messagesOf(async () => {
      expect(await processor.process(job)).toMatchObject({ kind: "completed" });
    });
    return messages.flat().some(({ text }) => text.includes("JOIN millrace.bodies"));
  };
  expect(await process(makeJob({ body: '{"new":1}' }))).toBe(false);
  const event = anEvent({ body: Buffer.from('{"first":1}') });
  await processors.ledger.intake.accept([event]);
  expect(await process(makeJob({ eventId: event.eventId, body: '{"second":1}' }))).toBe(true);
  expect(bodies).toEqual(['{"new":1}', '{"first":1}']);
});

test("a table that changes under a prepared statement uses up no attempt", async () => {
  await processors.ask("create table costs (sku text primary key)");
  let prepared = 0;
  const handler = on("shop", "*", async (_, { tx }) => {
    await tx.execute(sql`select * from costs where sku = ${"a"}`);
    const names = sql`select from pg_prepared_statements where statement like 'select * from costs%'`;
    prepared = (await tx.execute(names)).rows.length;
  });
  const { process } = processors.create([handler], { attempts: 1 });
  for (let round = 0; prepared === 0; round += 1) {
    if (round > 50) throw new Error("No statement was prepared");
    await process(makeJob());
  }
  await processors.ask("alter table costs add column cents int");
  const job = makeJob();
  expect(await process(job)).toMatchObject({ kind: "retry", code: "database_unavailable" });
  expect(await process(job)).toMatchObject({ kind: "completed" });
});

import { on, PermanentError, RetryLater, type HandlerFunction } from "@millrace/core";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import {
  openTestProcessors,
  effect,
  makeJob,
  thenThrow,
  type TestProcessors,
} from "./processor-fixture.ts";

let processors: TestProcessors;

beforeAll(async () => {
  processors = await openTestProcessors();
});
afterAll(() => processors?.close());

test("an event's effect and its completion are there together", async () => {
  const processor = processors.create([on("shop", "*", effect)]);
  const job = makeJob();
  expect(await processor.process(job)).toEqual({ kind: "completed", outcome: "handled" });
  expect(await processors.row(job.event.eventId)).toMatchObject({
    status: "completed",
    outcome: "handled",
    attempts: 1,
    last_error: null,
  });
  expect(await processors.effects(job.event.eventId)).toBe(1);
  expect(await processor.process(makeJob({ eventId: job.event.eventId, run: "run-2" }))).toEqual({
    kind: "duplicate",
  });
  expect(await processors.effects(job.event.eventId)).toBe(1);
});

test("an event whose type nobody hears is completed as ignored", async () => {
  const processor = processors.create([on("shop", "other", effect)]);
  const job = makeJob();
  expect(await processor.process(job)).toEqual({ kind: "completed", outcome: "ignored" });
  expect(await processors.row(job.event.eventId)).toMatchObject({
    status: "completed",
    outcome: "ignored",
  });
});

test("several handlers of an event share one transaction: the last one's failure undoes the first", async () => {
  const processor = processors.create([
    on("shop", "*", effect),
    on("shop", "*", effect),
    on("shop", "order.bad", thenThrow(new Error("no"))),
  ]);
  const good = makeJob();
  const bad = makeJob({ type: "order.bad" });
  await Promise.all([processor.process(good), processor.process(bad)]);
  expect(await processors.effects(good.event.eventId)).toBe(2);
  expect(await processors.effects(bad.event.eventId)).toBe(0);
});

test("a failing handler is undone, its error is recorded, and its last attempt fails the event", async () => {
  const processor = processors.create([on("shop", "*", thenThrow(new TypeError("out of stock")))], {
    attempts: 2,
  });
  const { eventId } = makeJob().event;
  expect(await processor.process(makeJob({ eventId, run: "1" }))).toMatchObject({
    kind: "retry",
    recorded: true,
  });
  expect(await processors.row(eventId)).toMatchObject({
    status: "pending",
    attempts: 1,
    last_error: "TypeError: out of stock",
  });
  expect(await processor.process(makeJob({ eventId, run: "2", body: undefined }))).toMatchObject({
    kind: "failed",
    code: "handler_failed",
  });
  expect(await processors.row(eventId)).toMatchObject({
    status: "failed",
    attempts: 2,
    last_error: "TypeError: out of stock",
  });
  expect(await processors.effects(eventId)).toBe(0);
  // The queue was never told: the same run again.
  expect(await processor.process(makeJob({ eventId, run: "2", body: undefined }))).toMatchObject({
    kind: "failed",
  });
  expect(await processors.row(eventId)).toMatchObject({ attempts: 2 });
});

test("a failed event that is retried gets its attempts again, and completes when the cause is fixed", async () => {
  let repaired = false;
  const processor = processors.create(
    [
      on("shop", "*", async (event, context) => {
        await effect(event, context);
        if (!repaired) throw new Error("not yet");
      }),
    ],
    { attempts: 1 },
  );
  const { eventId } = makeJob().event;
  expect(await processor.process(makeJob({ eventId, run: "1" }))).toMatchObject({ kind: "failed" });
  repaired = true;
  expect(await processor.process(makeJob({ eventId, run: "2", body: undefined }))).toMatchObject({
    kind: "completed",
  });
  expect(await processors.effects(eventId)).toBe(1);
});

test("PermanentError and RetryLater of another copy of the module are told by their brand", async () => {
  const permanent = Object.assign(new Error("no such user"), {
    [Symbol.for("millrace.permanent-error")]: true,
  });
  const later = Object.assign(new Error("later"), {
    [Symbol.for("millrace.retry-later")]: true,
    afterMs: 4_321,
  });
  const processor = processors.create([
    on("shop", "permanent", thenThrow(permanent)),
    on("shop", "later", thenThrow(later)),
  ]);
  const ended = makeJob({ type: "permanent" });
  expect(await processor.process(ended)).toMatchObject({ kind: "failed", code: "permanent_error" });
  expect(await processors.row(ended.event.eventId)).toMatchObject({
    status: "failed",
    attempts: 1,
  });
  expect(await processor.process(makeJob({ type: "later" }))).toMatchObject({
    kind: "retry",
    afterMs: 4_321,
  });
  expect(new PermanentError("x")).toHaveProperty("name");
  expect(new RetryLater({ afterMs: 1 }).afterMs).toBe(1);
});

test("a handler that ignores its signal writes nothing after its time is up", async () => {
  let late: unknown;
  const processor = processors.create(
    [
      on("shop", "*", async (event, context) => {
        await effect(event, context);
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve));
        late = await effect(event, context)?.then(
          () => "wrote",
          (error: unknown) => error,
        );
      }),
    ],
    { handlerTimeoutMs: 150 },
  );
  const job = makeJob();
  expect(await processor.process(job)).toMatchObject({
    kind: "retry",
    code: "handler_timeout",
    recorded: true,
  });
  await until(() => late);
  expect(late).not.toBe("wrote");
  expect(await processors.effects(job.event.eventId)).toBe(0);
  expect(await processors.row(job.event.eventId)).toMatchObject({ status: "pending" });
});

test("what a handler returns and throws is of no account: BigInt, circles, null, a message of a megabyte", async () => {
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const returning = (value: unknown) =>
    (() => Promise.resolve(value)) as unknown as HandlerFunction;
  const processor = processors.create([
    on("shop", "bigint", returning(5n)),
    on("shop", "circle", returning(circle)),
    on("shop", "null", thenThrow(null)),
    on("shop", "thrown-circle", thenThrow(circle)),
    on("shop", "megabyte", thenThrow(new Error(`é\u0000\ud800${"x".repeat(1_000_000)}`))),
  ]);
  expect(await processor.process(makeJob({ type: "bigint" }))).toMatchObject({ kind: "completed" });
  expect(await processor.process(makeJob({ type: "circle" }))).toMatchObject({ kind: "completed" });
  for (const type of ["null", "thrown-circle", "megabyte"]) {
    const job = makeJob({ type });
    expect(await processor.process(job)).toMatchObject({
      kind: "retry",
      code: "handler_failed",
      recorded: true,
    });
    const lastError = (await processors.row(job.event.eventId))?.last_error ?? "";
    expect(Buffer.byteLength(lastError)).toBeLessThanOrEqual(8_192);
    expect(lastError).not.toBe("");
  }
});

test("a failed query shows Postgres's words in the ledger, and no parameter", async () => {
  const processor = processors.create([
    on("shop", "*", async (_event, { tx }) => {
      await tx.execute(sql`insert into no_such_table values (${"canary@example.com"})`);
    }),
  ]);
  const job = makeJob();
  await processor.process(job);
  const row = await processors.row(job.event.eventId);
  expect(row?.last_error).toContain('relation "no_such_table" does not exist (SQLSTATE 42P01)');
  expect(row?.last_error).not.toContain("canary");
});

test("the stack of a failed attempt is kept, unless errors.stack is off; the group is the same one", async () => {
  const failed = async (keepsStacks: boolean) => {
    const processor = processors.create([on("shop", "*", thenThrow(new Error("no")))], {
      keepsStacks,
    });
    const job = makeJob();
    await processor.process(job);
    const found = await processors.ledger.reads.findEvent(job.event);
    return found?.attemptLog[0];
  };
  const [kept, off] = [await failed(true), await failed(false)];
  expect(kept?.stack?.find(({ own }) => own)?.file).toBe("test/processor/processor.test.ts");
  expect(off).toMatchObject({ message: "Error: no", stack: null, fingerprint: kept?.fingerprint });
});

test.each(["<not json>", '{"a":"\\u0000 \\ud800"}', "\u0000"])(
  "a body %j is kept and processed byte for byte",
  async (body) => {
    let seen: Uint8Array | undefined;
    const processor = processors.create([
      on("shop", "raw", (event) => void (seen = event.body)),
      on("shop", "json", (event) => void event.payload),
    ]);
    const raw = makeJob({ type: "raw", body });
    expect(await processor.process(raw)).toMatchObject({ kind: "completed" });
    expect(Buffer.from(seen ?? []).toString()).toBe(body);
    const isJson = body.startsWith("{");
    const parsed = await processor.process(makeJob({ type: "json", body }));
    expect(parsed).toMatchObject(
      isJson ? { kind: "completed" } : { kind: "failed", code: "permanent_error" },
    );
  },
);

import { on, type HandlerFunction } from "@millrace/core";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { effect, makeJob, prepare, thenThrow, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

test("an event's effect and its completion are there together", async () => {
  const { process, processor, row, effects, eventId } = prepare(processors, effect);
  expect(await process()).toEqual({ kind: "completed", outcome: "handled" });
  const done = { status: "completed", outcome: "handled", attempts: 1, last_error: null };
  expect(await row()).toMatchObject(done);
  expect(await effects()).toBe(1);
  const again = makeJob({ eventId, run: "run-2" });
  expect(await processor.process(again)).toEqual({ kind: "duplicate" });
  expect(await effects()).toBe(1);
});

test("an event whose type nobody hears is completed as ignored", async () => {
  const { process, row } = prepare(processors, [on("shop", "other", effect)]);
  expect(await process()).toEqual({ kind: "completed", outcome: "ignored" });
  expect(await row()).toMatchObject({ status: "completed", outcome: "ignored" });
});

test("a handler that ignores its signal writes nothing after its time is up", async () => {
  let late: unknown;
  const { process, row, effects } = prepare(
    processors,
    async (event, context) => {
      const aborted = new Promise((resolve) => context.signal.addEventListener("abort", resolve));
      // On a busy machine the time may be up before it has written.
      await Promise.resolve(effect(event, context)).catch(() => {});
      await aborted;
      late = await effect(event, context)?.then(
        () => "wrote",
        (error: unknown) => error,
      );
    },
    { handlerTimeoutMs: 150 },
  );
  const timedOut = { kind: "retry", code: "handler_timeout", recorded: true };
  expect(await process()).toMatchObject(timedOut);
  await until(() => late);
  expect(late).not.toBe("wrote");
  expect(await effects()).toBe(0);
  expect(await row()).toMatchObject({ status: "pending" });
});

const circle: { self?: unknown } = {};
circle.self = circle;
const refuse = () => {
  throw new Error("no");
};
const unreadable = Object.defineProperty(new Error("inner"), "code", { get: refuse });
const THROWN: Readonly<Record<string, unknown>> = {
  null: null,
  "a text": "text",
  undefined,
  "a BigInt": 5n,
  "an object without a prototype": Object.create(null),
  "a circle": circle,
  "a Proxy that refuses every question": new Proxy(
    {},
    { get: refuse, has: refuse, getPrototypeOf: refuse },
  ),
  "an error whose cause cannot be read": new Error("outer", { cause: unreadable }),
  "a message of a megabyte": new Error(`é\u0000\ud800${"x".repeat(1_000_000)}`),
};

test.each(Object.keys(THROWN))("a handler that throws %s fails its attempt", async (name) => {
  const { process, row } = prepare(processors, thenThrow(THROWN[name]));
  const failed = { kind: "retry", code: "handler_failed", recorded: true };
  expect(await process()).toMatchObject(failed);
  const lastError = (await row())?.last_error ?? "";
  expect(Buffer.byteLength(lastError)).toBeLessThanOrEqual(8_192);
  expect(lastError).not.toBe("");
});

test("what a handler returns is ignored, a BigInt and a circle too", async () => {
  for (const value of [5n, circle]) {
    const run = (() => Promise.resolve(value)) as unknown as HandlerFunction;
    const processor = processors.create([on("shop", "*", run)]);
    expect(await processor.process(makeJob())).toMatchObject({ kind: "completed" });
  }
});

test("the stack of a failed attempt is kept, unless errors.stack is off; the group is the same one", async () => {
  const failed = async (keepsStacks: boolean) => {
    const processor = processors.create([on("shop", "*", thenThrow(new Error("no")))], {
      keepsStacks,
    });
    const job = makeJob();
    await processor.process(job);
    const found = await processors.ledger.reads.findEvent(job.event);
    return found?.attempt_log[0];
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

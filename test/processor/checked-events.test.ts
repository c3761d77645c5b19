import { on, type Handler, type HandlerFunction, type HandlerParts } from "@millrace/core";
import { expect, test } from "vitest";
import { z } from "zod";
import { effect, leave, makeJob, prepare, useProcessors, warmUp } from "./processor-fixture.ts";
import { until } from "../support/until.ts";

const processors = useProcessors();

const Order = z.object({
  order: z.object({ id: z.string(), cents: z.coerce.number() }),
  items: z.array(z.object({ sku: z.string() })).default([]),
});
const body = (order: unknown, more: object = {}) => JSON.stringify({ order, ...more });
const fresh = (text: string, more: Partial<Parameters<typeof makeJob>[0]> = {}) =>
  makeJob({ body: text, startedBefore: false, ...more });

const WAYS = [
  ["in groups", true],
  ["recorded first", false],
] as const;

test.each(WAYS)("a handler gets what its schema makes of the payload, %s", async (_way, groups) => {
  const seen: unknown[] = [];
  const write: HandlerFunction = (event) => void seen.push(event.payload);
  const call: HandlerParts["call"] = (event) => void seen.push(event.payload);
  const handlers = [
    on("shop", "written", { schema: Order, write }),
    on("shop", "called", { schema: Order, call, write }),
    on("shop", "*", write),
  ];
  const processor = processors.create(handlers, { groups });
  const text = body({ id: "o1", cents: "500", note: "left out" });
  const [made, sent] = [{ order: { id: "o1", cents: 500 }, items: [] }, JSON.parse(text)];
  for (const type of ["written", "called"]) {
    expect(await processor.process(fresh(text, { type }))).toMatchObject({ outcome: "handled" });
  }
  expect(seen).toEqual([made, sent, made, made, sent]);
});

test.each(WAYS)(
  "a payload that does not match fails at once, and its message names paths and no values, %s",
  async (_way, groups) => {
    let runs = 0;
    const text = body({ id: "o1", cents: "secret" }, { items: [{ sku: "a" }, { sku: 4242 }] });
    const parts = { schema: Order, write: () => void (runs += 1) };
    const over = { body: text, startedBefore: false };
    const { process, row } = prepare(processors, parts, { groups }, over);
    const failed = { kind: "failed", code: "payload_mismatch", recorded: true };
    expect(await process()).toMatchObject(failed);
    expect(await row()).toMatchObject({
      status: "failed",
      attempts: 1,
      last_error:
        "MillraceError: Cannot handle the event: its payload is not as the handler's schema says at order.cents (expected number, got string), items[1].sku (expected string, got number)",
    });
    expect(runs).toBe(0);
  },
);

test("a mismatch is checked before the call", async () => {
  let calls = 0;
  const { process } = prepare(processors, { schema: Order, call: () => void (calls += 1) });
  expect(await process()).toMatchObject({ code: "payload_mismatch" });
  expect(calls).toBe(0);
});

test("a mismatch enters no group: the events beside it are not undone, and run once", async () => {
  let runs = 0;
  const handler = on("shop", "*", {
    schema: Order,
    write: async (event, context) => {
      runs += 1;
      await effect(event, context);
    },
  });
  const good = body({ id: "o1", cents: 1 });
  const processor = processors.create([handler], { groups: true });
  const { together, groups } = await warmUp(processor, good);
  const jobs = () =>
    Array.from({ length: 16 }, (_, index) => fresh(index % 2 === 0 ? good : body({ id: index })));
  // On a busy machine an event may be attempted alone, or its group undone and run anew.
  await until(async () => {
    runs = 0;
    processor.notices.length = 0;
    const kinds = (await together(jobs())).map(({ kind }) => kind);
    expect(kinds).toEqual(kinds.map((_, index) => (index % 2 === 0 ? "completed" : "failed")));
    const inGroups = groups().reduce((sum, size) => sum + size, 0);
    return runs === 8 && inGroups > 0 && inGroups <= 8;
  });
});

test("the body that the ledger has is checked, and no other one under the ID", async () => {
  const processor = processors.create([on("shop", "*", { schema: Order, write: effect })], {
    groups: true,
  });
  const text = body({ id: "o1", cents: 1 });
  const [good, bad, known] = [fresh(text), fresh(body({ id: "o2" })), fresh(text)];
  await processors.accept(good, bad, known);
  const identity = ({ event }: typeof good) => ({
    ...makeJob({ ...event, body: undefined, startedBefore: false }),
    event: { ...event, body: undefined },
  });
  expect(await processor.process(identity(good))).toMatchObject({ outcome: "handled" });
  expect(await processor.process(identity(bad))).toMatchObject({ code: "payload_mismatch" });
  const another = fresh('{"order":"not one"}', { eventId: known.event.eventId });
  expect(await processor.process(another)).toMatchObject({ outcome: "handled" });
});

test("a schema may take its time, and past the handlers' time the attempt fails", async () => {
  const patient = Order.refine(async () => await Promise.resolve(true));
  const never = Order.refine(() => new Promise<boolean>(() => {}));
  const handlers = (schema: typeof Order): Handler[] => [
    on("shop", "*", { schema, write: effect }),
  ];
  const job = () => fresh(body({ id: "o1", cents: 1 }));
  for (const groups of [true, false]) {
    const quick = processors.create(handlers(patient), { groups });
    expect(await quick.process(job())).toMatchObject({ outcome: "handled" });
    const slow = processors.create(handlers(never), { groups, handlerTimeoutMs: 100 });
    expect(await slow.process(job())).toMatchObject({ kind: "retry", code: "handler_timeout" });
  }
});

test("a body that is not JSON does not match, and a handler without a schema may have it", async () => {
  const handlers = [
    on("shop", "checked", { schema: z.unknown(), write: effect }),
    on("shop", "plain", effect),
  ];
  const processor = processors.create(handlers);
  const job = fresh("<xml/>", { type: "checked" });
  expect(await processor.process(job)).toMatchObject({
    code: "payload_mismatch",
    message: "MillraceError: Cannot handle the event: the body (6 bytes) is not JSON in UTF-8",
  });
  expect(await processor.process(fresh("<xml/>", { type: "plain" }))).toMatchObject({
    outcome: "handled",
  });
});

test.each(WAYS)("an event that no `when` takes is ignored, %s", async (_way, groups) => {
  const isPaid: HandlerParts["when"] = ({ payload }) => payload.paid;
  let calls = 0;
  const handlers = [
    on("shop", "written", { when: isPaid, write: leave("paid") }),
    on("shop", "called", { when: isPaid, call: () => void (calls += 1), write: leave("paid") }),
    on("shop", "*", { when: ({ payload }) => payload.gift === true, write: leave("gift") }),
  ];
  const processor = processors.create(handlers, { groups });
  const run = async (type: string, text: string) => {
    const job = fresh(text, { type });
    const result = await processor.process(job);
    return [result, await processors.notes(job.event.eventId)];
  };
  const kind = "completed";
  const [ignored, handled] = ["ignored", "handled"].map((outcome) => ({ kind, outcome }));
  for (const type of ["written", "called"]) {
    expect(await run(type, '{"paid":false}')).toEqual([ignored, []]);
    expect(await run(type, '{"paid":true}')).toEqual([handled, ["paid"]]);
    expect(await run(type, '{"paid":true,"gift":true}')).toEqual([handled, ["paid", "gift"]]);
    expect(await run(type, '{"gift":true}')).toEqual([handled, ["gift"]]);
  }
  expect(calls).toBe(2);
});

test.each(WAYS)("a `when` that throws fails the attempt, %s", async (_way, groups) => {
  const when = () => {
    throw new Error("no such field");
  };
  const over = { startedBefore: false };
  const { process, row } = prepare(processors, { when, write: effect }, { groups }, over);
  const failed = { kind: "retry", code: "handler_failed", recorded: true };
  expect(await process()).toMatchObject(failed);
  expect(await row()).toMatchObject({ last_error: "Error: no such field" });
});

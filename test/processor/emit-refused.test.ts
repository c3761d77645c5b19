import { isMillraceError, on, type HandlerFunction } from "@millrace/core";
import { expect, test } from "vitest";
import { effect, emittedRows, fresh, makeJob, useProcessors } from "./processor-fixture.ts";

const processors = useProcessors();

type Emit = Parameters<HandlerFunction>[1]["emit"];
const emits =
  (...given: Parameters<Emit>): HandlerFunction =>
  (_, { emit }) =>
    emit(...given);
const NO_SOURCE = 'Cannot emit to "post": it is not an internal source; the config has mail, audit';

const REFUSED: readonly [string, HandlerFunction, string][] = [
  ["to a source that is not there", emits("post", "receipt", {}), NO_SOURCE],
  ["to a source with a URL", emits("shop", "receipt", {}), NO_SOURCE.replace("post", "shop")],
  ["of an empty type", emits("mail", "", {}), "its type is not 1 to 256 bytes of UTF-8"],
  [
    "with data that JSON does not have",
    emits("mail", "receipt", undefined),
    "its data is not JSON: undefined",
  ],
  [
    "with data that cannot be written",
    emits("mail", "receipt", { amount: 1n }),
    "its data is not JSON: Do not know how to serialize a BigInt",
  ],
  [
    "with too much data",
    emits("mail", "receipt", "x".repeat(1_000)),
    "its data has 1002 bytes, and the source takes 1000",
  ],
  [
    "with a key twice",
    async (_, { emit }) => {
      await emit("mail", "receipt", 1, { key: "a" });
      await emit("mail", "receipt", 2, { key: "a" });
    },
    'an event of type "receipt" was emitted with the same key before',
  ],
  [
    "with a key that Postgres cannot hold",
    emits("mail", "receipt", 1, { key: "a\0" }),
    "its key is not a text of UTF-8, or is empty",
  ],
  ...[-1, Number.NaN, 365 * 86_400_000 + 1].map((afterMs): [string, HandlerFunction, string] => [
    `after ${afterMs} ms`,
    emits("mail", "receipt", 1, { afterMs }),
    `afterMs is ${afterMs}, and must be 0 to 31536000000 (365 days)`,
  ]),
  ["without being waited for", (_, { emit }) => void emit("post", "receipt", {}), NO_SOURCE],
];

test.each(REFUSED)("an event %s is refused at once, and undoes its parent", async (_, run, why) => {
  const processor = processors.create([on("shop", "*", effect), on("shop", "*", run)]);
  const job = makeJob();
  const { eventId } = job.event;
  expect(await processor.process(job)).toMatchObject({ kind: "retry", code: "emit_refused" });
  const row = await processors.row(eventId);
  expect(row).toMatchObject({ status: "pending", attempts: 1 });
  expect(row?.last_error).toContain("Cannot emit to");
  expect(row?.last_error).toContain(why);
  expect(await processors.effects(eventId)).toBe(0);
  expect(await emittedRows(processors, eventId)).toEqual([]);
});

test("an attempt emits a thousand events, and no more", async () => {
  const processor = processors.create([
    on("shop", "*", async (event, { emit }) => {
      const wanted = Number(event.headers["x-count"]);
      for (let made = 0; made < wanted; made += 1) await emit("mail", "receipt", made);
    }),
  ]);
  const enough = makeJob({ headers: { "x-count": "1000" } });
  const tooMany = makeJob({ headers: { "x-count": "1001" } });
  expect(await processor.process(enough)).toMatchObject({ kind: "completed" });
  expect(await emittedRows(processors, enough.event.eventId)).toHaveLength(1_000);
  expect(await processor.process(tooMany)).toMatchObject({ code: "emit_refused" });
  expect(await emittedRows(processors, tooMany.event.eventId)).toHaveLength(0);
});

test.each([
  ["several events", 20],
  ["one event", 1],
])("a set-based handler that gets %s cannot emit", async (_, count) => {
  const seen: unknown[] = [];
  const handler = on("shop", "*", { batch: 50 }, (events, context) => {
    const { emit } = context as never as { emit: (...given: unknown[]) => void };
    try {
      emit("mail", "receipt", {});
    } catch (error) {
      seen.push(isMillraceError(error) && error.code);
    }
  });
  const processor = processors.create([handler], { groups: count > 1 });
  const jobs = Array.from({ length: count }, () => fresh());
  await Promise.all(jobs.map((job) => processor.process(job)));
  expect(new Set(seen)).toEqual(new Set(["emit_refused"]));
});

test("an event that is emitted without await fails its parent, and is not there", async () => {
  for (const slip of [emits("mail", "receipt", {}), emits("mail", "receipt", {}, { afterMs: 9 })]) {
    const slipping: HandlerFunction = (event, context) => void slip(event, context);
    const processor = processors.create([on("shop", "*", slipping)]);
    const job = makeJob();
    expect(await processor.process(job)).toMatchObject({
      code: "query_not_awaited",
      message: expect.stringContaining('an emit to "mail" was not awaited; put await before it'),
    });
    expect(await emittedRows(processors, job.event.eventId)).toEqual([]);
  }
});

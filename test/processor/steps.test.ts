import { wait, type CallContext, type HandlerParts, type WebhookEvent } from "@millrace/core";
import { expect, test } from "vitest";
import {
  createGate,
  effect,
  makeJob,
  type Options,
  prepare,
  useProcessors,
} from "./processor-fixture.ts";

const processors = useProcessors();

type Call = (event: WebhookEvent, context: CallContext) => unknown;
const calling = (call: Call, options: Options = {}, write?: HandlerParts["write"]) =>
  prepare(processors, { call, write }, options);

const stepsOf = (eventId: string) =>
  processors.ask<{ name: string; attempt: number; generation: number; result: string | null }>(
    "select name, attempt, generation, result from millrace.steps where event_id = $1 order by generation, name",
    [eventId],
  );

test("a step that has ended is not run again by the attempts after it, which get its result", async () => {
  const keys: string[] = [];
  const got: unknown[] = [];
  const { process, processor, eventId } = calling(async ({ attempt }, { once }) => {
    got.push(
      await once("refund", (key) => {
        keys.push(key);
        return { id: "re_1", at: new Date(0) };
      }),
    );
    await once("mail", (key) => {
      keys.push(key);
      if (attempt === 1) throw new Error("the mailer is away");
    });
  });
  expect(await process()).toMatchObject({ kind: "retry", code: "handler_failed" });
  const refund = { name: "refund", attempt: 1, generation: 0 };
  const result = '{"id":"re_1","at":"1970-01-01T00:00:00.000Z"}';
  expect(await stepsOf(eventId)).toEqual([{ ...refund, result }]);
  const bare = makeJob({ eventId, body: undefined });
  expect(await processor.process(bare)).toMatchObject({ kind: "completed" });
  const [base, mail] = [`shop.${eventId}.0`, `shop.${eventId}.0.mail`];
  expect(keys).toEqual([`${base}.refund`, mail, mail]);
  // What JSON keeps of it, in the first attempt too.
  expect(got).toEqual([JSON.parse(result), JSON.parse(result)]);
  expect(await stepsOf(eventId)).toEqual([
    { name: "mail", attempt: 2, generation: 0, result: null },
    { ...refund, result },
  ]);
});

test("a replay runs its steps anew, under keys of its own", async () => {
  const keys: string[] = [];
  const call: Call = (_event, { once }) => once("mail", (key) => void keys.push(key));
  const { process, processor, eventId } = calling(call);
  await process();
  await processors.ledger.retries.replay([{ source: "shop", eventId, generation: 0 }]);
  await processor.process(makeJob({ eventId, generation: 1, body: undefined }));
  expect(keys).toEqual([`shop.${eventId}.0.mail`, `shop.${eventId}.1.mail`]);
  expect(await stepsOf(eventId)).toMatchObject([{ generation: 0 }, { generation: 1 }]);
});

test("steps of different names may run side by side", async () => {
  const { process, eventId } = calling(async (_event, { once }) => {
    const names = ["a", "b", "c", "d"];
    expect(await Promise.all(names.map((name) => once(name, () => name)))).toEqual(names);
  });
  expect(await process()).toMatchObject({ kind: "completed" });
  expect(await stepsOf(eventId)).toHaveLength(4);
});

const circle: { self?: unknown } = {};
circle.self = circle;

test.each<[string, Call, string]>([
  [
    "of one name in an attempt",
    async (_event, { once }) => {
      await once("mail", () => 1);
      await once("mail", () => 2);
    },
    'Cannot begin step "mail": this attempt has begun a step of that name; give each its own, such as "mail:2"',
  ],
  [
    "without a name",
    (_event, { once }) => once("", () => 1),
    "Cannot begin a step: its name must be text of 1 to 200 bytes, without NUL",
  ],
  [
    "with a result that takes too many bytes",
    (_event, { once }) => once("page", () => "é".repeat(32_768)),
    'Cannot record step "page", which has run: its result takes 65538 bytes, and at most 65536 are kept. Return only what the rest of the handler needs, then retry the event: the step runs again with the same key',
  ],
  [
    "with a result that is not JSON",
    (_event, { once }) => once("circle", () => circle),
    'Cannot record step "circle", which has run: its result is not JSON. Return only what the rest of the handler needs, then retry the event: the step runs again with the same key',
  ],
])("a step %s fails the event at once", async (_what, call, message) => {
  const { process, row } = calling(call);
  const failed = { kind: "failed", code: "step_refused", recorded: true };
  expect(await process()).toMatchObject(failed);
  const last_error = `MillraceError: ${message}`;
  expect(await row()).toMatchObject({ status: "failed", last_error });
});

test("a result of 64 kB, of any characters, is kept", async () => {
  const text = `\0\ud800${"x".repeat(65_536 - 14)}`;
  expect(JSON.stringify(text)).toHaveLength(65_536);
  const got: unknown[] = [];
  const { process } = calling(async ({ attempt }, { once }) => {
    got.push(await once("page\u2028", () => text));
    if (attempt === 1) throw new Error("again");
  });
  await process();
  expect(await process()).toMatchObject({ kind: "completed" });
  expect(got).toEqual([text, text]);
});

test("a stale worker remembers nothing: its step throws, whatever its handler makes of it, and its attempt is lost", async () => {
  const gate = createGate();
  const thrown: unknown[] = [];
  const keys: string[] = [];
  const call: Call = async (_event, { once }) => {
    try {
      return await once("mail", (key) => void keys.push(key));
    } catch (error) {
      thrown.push(error);
      return await once("after", () => keys.push("never"));
    }
  };
  const stale = calling(call, { before: { recordStep: gate.pass } }, effect);
  const { eventId } = stale;
  const first = stale.process();
  await gate.untilWaiting();
  const { processor } = calling(call, {}, effect);
  expect(await processor.process(makeJob({ eventId }))).toMatchObject({ kind: "completed" });
  gate.open();
  expect(await first).toMatchObject({ kind: "lost" });
  expect(thrown).toMatchObject([{ code: "lost_claim" }]);
  expect(new Set(keys.slice(0, 2))).toEqual(new Set([`shop.${eventId}.0.mail`]));
  expect(await stepsOf(eventId)).toMatchObject([{ name: "mail", attempt: 2 }]);
  expect(await stale.effects()).toBe(1);
});

test("a step does not begin when the time of its call is up, and does when Postgres was away for a moment", async () => {
  const ran: string[] = [];
  let late: Promise<unknown> = Promise.resolve();
  const call: Call = async (_event, { once, signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    late = once("late", () => ran.push("late")).catch((error: unknown) => error);
    await late;
  };
  const slow = prepare(processors, { timeoutMs: 50, call });
  expect(await slow.process()).toMatchObject({ code: "handler_timeout" });
  expect(await late).toMatchObject({ code: "handler_timeout" });
  expect(ran).toEqual([]);

  let isAway = true;
  const patient = calling((_event, { once }) => once("mail", () => 1), {
    before: {
      recordStep: () => {
        if (!isAway) return;
        isAway = false;
        const error = new Error("terminating connection");
        throw Object.assign(error, { code: "57P01", severity: "FATAL" });
      },
    },
  });
  expect(await patient.process()).toMatchObject({ kind: "completed" });
  expect(await stepsOf(patient.eventId)).toHaveLength(1);
});

test.each<[string, Call]>([
  ["at once", (_event, { once }) => void once("mail", () => 1)],
  ["later", (_event, { once }) => void once("mail", () => wait(20))],
  ["with an error", (_event, { once }) => void once("mail", () => Promise.reject(new Error("x")))],
  ["behind a then", (_event, { once }) => void once("mail", () => wait(20)).then(() => 1)],
  ["of several", async (_event, { once }) => [await once("first", () => 1), once("mail", () => 2)]],
])("a step that is not awaited and ends %s fails the attempt", async (_when, call) => {
  const { process } = calling(call);
  expect(await process()).toMatchObject({
    ...{ kind: "retry", code: "query_not_awaited" },
    message: expect.stringContaining('step "mail" was not awaited; put await before it'),
  });
});

test("a step that its call does not await begins no other when the call has ended", async () => {
  let later: Promise<unknown> = Promise.resolve();
  const ended = createGate();
  const { process } = calling((_event, { once }) => {
    later = ended
      .pass()
      .then(() => once("late", () => 1))
      .catch((error: unknown) => error);
  });
  expect(await process()).toMatchObject({ kind: "completed" });
  ended.open();
  expect(await later).toMatchObject({
    code: "step_refused",
    message: 'Cannot begin step "late": its call has ended; await every step',
  });
});

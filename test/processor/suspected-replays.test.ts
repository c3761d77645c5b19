import { randomBytes, randomUUID } from "node:crypto";
import { on, type EventJob, type HandlerParts } from "@millrace/core";
import type { Processor } from "@millrace/processor";
import { afterAll, describe, expect, test } from "vitest";
import { failure } from "../support/ledger-fixture.ts";
import { until } from "../support/until.ts";
import {
  createGate,
  effect,
  fresh,
  makeJob,
  type Options,
  useProcessors,
  warmGroups,
} from "./processor-fixture.ts";

const processors = useProcessors();
const dead = createGate();
afterAll(() => dead.open());

const HANDLED = "completed handled";
const SUSPECT = "failed suspected_replay";

function twins(count = 3, over: Parameters<typeof makeJob>[0] = {}) {
  const body = JSON.stringify({ captured: randomUUID() });
  const jobs = Array.from({ length: count }, () => makeJob({ unsigned: true, body, ...over }));
  return jobs as [EventJob, EventJob, EventJob, ...EventJob[]];
}

const aDigest = () => randomBytes(32).toString("base64url");
const age = ({ event }: EventJob, hours: number) =>
  processors.ask(
    "update millrace.events set recorded_at = now() - make_interval(hours => $2) where event_id = $1",
    [event.eventId, hours],
  );
const as = (job: EventJob, over: object) => ({ ...job, event: { ...job.event, ...over } });
const again = ({ event }: EventJob) => makeJob({ ...event, body: undefined, run: "again" });

const settle = (processor: Pick<Processor, "process">, job: EventJob) =>
  until(async () => {
    const result = await processor.process(job);
    if (result.kind === "completed") return `${result.kind} ${result.outcome}`;
    return result.kind === "failed" && `${result.kind} ${result.code}`;
  });

async function effectsOf(jobs: readonly EventJob[]): Promise<number> {
  const counts = await Promise.all(jobs.map(({ event }) => processors.effects(event.eventId)));
  return counts.reduce((sum, count) => sum + count);
}

describe.each<[string, HandlerParts]>([
  ["write", { write: effect }],
  ["call", { call: () => {}, write: effect }],
])("for handlers that %s,", (_, parts) => {
  const create = (options: Options = {}) =>
    processors.create([on(["shop", "bank"], "*", parts)], options);

  test("a second ID with the body of one that is pending, or has failed, is a copy", async () => {
    const [first, second, third] = twins();
    const processor = create();
    await processors.accept(first);
    expect(await settle(processor, second)).toBe(SUSPECT);
    await processors.failForGood(first.event);
    expect(await settle(processor, third)).toBe(SUSPECT);
    expect(await effectsOf([second, third])).toBe(0);
    await processors.ledger.retries.retryMany([first.event]);
    expect(await settle(processor, again(first))).toBe(HANDLED);
  });

  test("one that is suspected swallows no other: a day after the first, the next one fails", async () => {
    const [day, night, next] = twins();
    const processor = create();
    await processors.accept(day, night);
    await age(day, 30);
    await age(night, 20);
    expect(await settle(processor, day)).toBe(HANDLED);
    expect(await settle(processor, night)).toBe(SUSPECT);
    expect(await settle(processor, next)).toBe(SUSPECT);
    expect((await processors.row(next.event.eventId))?.last_error).toContain(
      `came before as "${day.event.eventId}" of type "order.created"`,
    );
  });

  test("a suspected event runs when a person has retried it, also after a failure, but not by a delivery", async () => {
    const [first, later] = twins();
    const processor = create();
    await processors.accept(first);
    await age(first, 25);
    expect(await settle(processor, first)).toBe(HANDLED);
    expect(await settle(processor, later)).toBe(SUSPECT);
    expect(await settle(processor, { ...later, run: "run-of-a-redelivery" })).toBe(SUSPECT);
    await processors.ledger.retries.retryMany([later.event]);
    await processors.claim(later.event);
    await processors.ledger.claims.fail(later.event, 1, failure);
    expect(await settle(processor, again(later))).toBe(HANDLED);
  });

  test("a digest tells messages apart that have one body, and joins those that have several", async () => {
    const [one, two] = twins();
    const [other] = twins();
    const processor = create();
    const digest = aDigest();
    expect(await settle(processor, as(one, { digest }))).toBe(HANDLED);
    expect(await settle(processor, as(two, { digest: aDigest() }))).toBe(HANDLED);
    expect(await settle(processor, as(other, { digest }))).toBe(SUSPECT);
  });

  test("signed IDs, other sources, replays of ours, and bodyDedup: false make nothing suspect", async () => {
    const [signed, ours, other, own, careless] = twins(5);
    const processor = create();
    const replay = as(ours, { generation: 1 });
    await processors.accept(as(signed, { unsigned: false }), replay);
    expect(await settle(processor, replay)).toBe(HANDLED);
    expect(await settle(processor, as(other, { source: "bank" }))).toBe(HANDLED);
    expect(await settle(processor, own ?? other)).toBe(HANDLED);
    expect(await settle(create({ bodyDedup: false }), careless ?? other)).toBe(HANDLED);
  });

  test.each([
    ["recorded attempts", false],
    ["first attempts", true],
  ])("of forty at once in eight workers exactly one runs, by %s", async (_ways, groups) => {
    const workers = Array.from({ length: 8 }, () => create({ attempts: 50, groups }));
    const jobs = twins(40, { startedBefore: !groups });
    const outcomes = await Promise.all(
      jobs.map((job, index) => settle(workers[index % workers.length] ?? create(), job)),
    );
    expect(outcomes.toSorted()).toEqual([HANDLED, ...Array<string>(39).fill(SUSPECT)]);
    expect(await effectsOf(jobs)).toBe(1);
  });
});

test("a body that came before is stored once, unless its ID is signed; its headers are each event's own", async () => {
  const [first = makeJob(), ...others] = twins(5).map((job, index) =>
    as(job, { headers: { "x-delivery": `${index}` } }),
  );
  const stored = async () => {
    const text = "select count(*)::int as n from millrace.bodies where body = $1";
    return (await processors.ask<{ n: number }>(text, [first.event.body]))[0]?.n;
  };
  await processors.accept(first, ...others.slice(0, 2));
  await processors.accept(...others.slice(2, 3));
  for (const { event } of others.slice(3)) await processors.claim(event);
  expect(await stored()).toBe(1);
  const find = ({ event }: EventJob) => processors.ledger.reads.findEvent(event);
  for (const [index, job] of others.entries()) {
    const found = await find(job);
    expect(found?.headers).toEqual({ "x-delivery": `${index + 1}` });
    expect(Buffer.from(found?.body ?? [])).toEqual(first.event.body);
  }
  const { total, events = [] } = (await find(first))?.same_message ?? {};
  expect(total).toBe(4);
  expect(events.map(({ event_id }) => event_id).toSorted()).toEqual(
    others.map(({ event }) => event.eventId).toSorted(),
  );
  await processors.accept(as(makeJob(), { body: Buffer.from(first.event.body ?? "") }));
  expect(await stored()).toBe(2);
});

test("one that comes while another calls is a copy, and the other calls again after a failure", async () => {
  const [early, late] = twins();
  let isFailing = true;
  const call: HandlerParts["call"] = async ({ id }) => {
    expect(id).toBe(late.event.eventId);
    if (!isFailing) return;
    await processors.accept(early);
    isFailing = false;
    throw new Error("the other system is away");
  };
  const processor = processors.create([on("shop", "*", { call, write: effect })]);
  expect(await processor.process(late)).toMatchObject({ kind: "retry" });
  expect(await settle(processor, again(early))).toBe(SUSPECT);
  expect(await settle(processor, again(late))).toBe(HANDLED);
  expect(await effectsOf([early, late])).toBe(1);
});

test("a group is undone if the ledger takes one of its messages while the handlers run", async () => {
  let taken: EventJob | undefined;
  const { together } = await warmGroups(processors, async ({ unsigned }) => {
    if (!unsigned || taken === undefined) return;
    const earlier = taken;
    taken = undefined;
    await processors.accept(earlier);
  });
  // On a busy machine an event may be attempted alone, which does not look again.
  await until(async () => {
    const [earlier, later] = twins(3, { startedBefore: false });
    taken = earlier;
    const others = Array.from({ length: 5 }, () => fresh());
    const [result] = await together([later, ...others]);
    expect(await effectsOf(others)).toBe(5);
    return result?.kind === "failed" && result.code === "suspected_replay";
  });
});

test("a first attempt that fails behind a copy that was recorded meanwhile is the copy", async () => {
  const [first, second] = twins(3, { startedBefore: false });
  const write = async () => {
    await processors.accept(second);
    throw new Error("the first attempt fails");
  };
  const failing = processors.create([on("shop", "*", write)], { groups: true });
  expect(await settle(failing, first)).toBe(SUSPECT);
  const processor = processors.create([on("shop", "*", effect)]);
  expect(await settle(processor, again(second))).toBe(HANDLED);
});

test("a copy waits for the first attempt of its message, and is a copy also when that fails", async () => {
  const [first, second] = twins(3, { startedBefore: false });
  const gate = createGate();
  let isFailing = true;
  const write: HandlerParts["write"] = async (event, context) => {
    if (isFailing) await gate.pass();
    if (isFailing) throw new Error("the first attempt fails");
    await effect(event, context);
  };
  const processor = processors.create([on("shop", "*", { write })], { groups: true });
  const running = processor.process(first);
  await gate.untilWaiting();
  expect(await processor.process(second)).toMatchObject({ kind: "lost" });
  gate.open();
  expect(await running).toMatchObject({ kind: "retry" });
  isFailing = false;
  expect(await settle(processor, second)).toBe(SUSPECT);
  expect(await settle(processor, again(first))).toBe(HANDLED);
});

test("copies that cross in the groups of two workers end, each message once", async () => {
  const workers = await Promise.all([1, 2].map(() => warmGroups(processors, () => {})));
  const messages = Array.from({ length: 10 }, () => twins(2, { startedBefore: false }));
  const jobs = [messages.map(([one]) => one), messages.map(([, other]) => other).toReversed()];
  const ends = await Promise.all(
    workers.flatMap(({ processor }, at) => (jobs[at] ?? []).map((job) => settle(processor, job))),
  );
  expect(ends.toSorted()).toEqual([...Array(10).fill(HANDLED), ...Array(10).fill(SUSPECT)]);
  expect(await effectsOf(jobs.flat())).toBe(10);
});

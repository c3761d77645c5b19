import { randomUUID } from "node:crypto";
import { on, type EventJob } from "@millrace/core";
import { afterAll, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { openForAll } from "../support/open-for.ts";
import {
  createGate,
  effect,
  makeJob,
  openTestProcessors,
  type Options,
} from "./processor-fixture.ts";

// An id that nobody signed can be made up for a captured body. Its handlers must not call twice.

const processors = openForAll(openTestProcessors);
/** Where a worker stands still that died, until the end of the tests. */
const dead = createGate();
afterAll(() => dead.open());

/** Jobs of one signed message under ids that nobody signed. */
function twins(count: number): EventJob[] {
  const body = JSON.stringify({ captured: randomUUID() });
  return Array.from({ length: count }, () => makeJob({ unsigned: true, body }));
}

const accept = ({ event }: EventJob) =>
  processors.ledger.intake.accept([{ ...event, body: event.body ?? Buffer.from("") }]);

const age = ({ event }: EventJob, hours: number) =>
  processors.ask(
    "update millrace.events set recorded_at = now() - make_interval(hours => $2) where event_id = $1",
    [event.eventId, hours],
  );

const again = ({ event }: EventJob) => makeJob({ ...event, body: undefined, run: "again" });

/** A processor whose handlers call, note for whom, and write. */
function caller(options: Options = {}) {
  const calls: string[] = [];
  const handler = on("shop", "order.created", {
    call: ({ id }) => void calls.push(id),
    write: effect,
  });
  return { calls, ...processors.create([handler, on("shop", "plain", effect)], options) };
}

/** Waits until so many have come, and lets them go on together. */
function meeting(count: number) {
  let come = 0;
  return async () => {
    come += 1;
    await until(() => come >= count);
  };
}

/** Processes a job until it has another result than that its event is another worker's. */
async function settle(processor: { process: (job: EventJob) => Promise<unknown> }, job: EventJob) {
  return await until(async () => {
    const result = (await processor.process(job)) as { kind: string; outcome?: string };
    return result.kind === "lost" ? undefined : (result.outcome ?? result.kind);
  });
}

test.each([
  ["one processor", 1],
  ["two processors", 2],
])("of many at once exactly one calls, in %s", async (_what, count) => {
  const options = { beforeDecision: meeting(8), attempts: 50 };
  const callers = Array.from({ length: count }, () => caller(options));
  const jobs = twins(8);
  const outcomes = await Promise.all(
    jobs.map((job, index) => settle(callers[index % count] ?? caller(), job)),
  );
  expect(outcomes.toSorted()).toEqual(["handled", ...Array<string>(7).fill("suspected_replay")]);
  expect(callers.flatMap(({ calls }) => calls)).toHaveLength(1);
  const effects = await Promise.all(jobs.map(({ event }) => processors.effects(event.eventId)));
  expect(effects.reduce((sum, one) => sum + one)).toBe(1);
});

test("one that comes while the first calls is a replay at once", async () => {
  const [first, second] = twins(2) as [EventJob, EventJob];
  const { pass, open, untilWaiting } = createGate();
  const slow = processors.create([on("shop", "*", { call: pass })]);
  const running = slow.process(first);
  await untilWaiting();
  const other = caller();
  expect(await other.process(second)).toEqual({ kind: "completed", outcome: "suspected_replay" });
  expect(other.calls).toEqual([]);
  open();
  expect(await running).toMatchObject({ kind: "completed", outcome: "handled" });
});

test("a worker that dies between the decision and its call leaves the event to be called by the next attempt", async () => {
  const [first, second] = twins(2) as [EventJob, EventJob];
  const dying = caller({ afterDecision: dead.pass });
  void dying.process(first);
  await dead.untilWaiting();
  const living = caller();
  expect(await settle(living, second)).toBe("suspected_replay");
  expect(await settle(living, again(first))).toBe("handled");
  expect([dying.calls, living.calls]).toEqual([[], [first.event.eventId]]);
});

test("a worker that dies before the decision is committed leaves the event, too", async () => {
  const [first] = twins(1) as [EventJob];
  const dying = caller({
    beforeDecision: async () => {
      // What the decision itself does, up to its COMMIT, on a connection that is lost.
      const client = await processors.connect();
      await client.query("begin");
      await client.query("update millrace.events set original = true where event_id = $1", [
        first.event.eventId,
      ]);
      client.release(true);
      await dead.pass();
    },
  });
  void dying.process(first);
  await until(async () => (await processors.row(first.event.eventId)) !== undefined);
  const living = caller({ attempts: 50 });
  expect(await settle(living, again(first))).toBe("handled");
  expect(living.calls).toEqual([first.event.eventId]);
});

test("one that was recorded earlier, and seen later, gives way to the one that calls, and that one calls again after a failure", async () => {
  const [early, late] = twins(2) as [EventJob, EventJob];
  let isFailing = true;
  const processor = processors.create([
    on("shop", "*", {
      call: async ({ id }) => {
        expect(id).toBe(late.event.eventId);
        if (!isFailing) return;
        // As if its record had begun before, and is committed only now.
        await accept(early);
        await age(early, 1);
        isFailing = false;
        throw new Error("the other system is away");
      },
      write: effect,
    }),
  ]);
  expect(await processor.process(late)).toMatchObject({ kind: "retry" });
  expect(await settle(processor, again(early))).toBe("suspected_replay");
  expect(await settle(processor, again(late))).toBe("handled");
  expect(await processors.effects(late.event.eventId)).toBe(1);
});

test("the captured body under a type without calls runs in no group and no transaction while the first calls", async () => {
  const [first, second] = twins(2) as [EventJob, EventJob];
  const processor = caller({ groups: true });
  let result: unknown;
  const calling = processors.create([
    on("shop", "*", {
      call: async () => {
        const job = { ...second, startedBefore: false };
        result = await processor.process({ ...job, event: { ...job.event, type: "plain" } });
      },
    }),
  ]);
  expect(await calling.process(first)).toMatchObject({ kind: "completed", outcome: "handled" });
  // It may be genuine, as another type: a person decides.
  expect(result).toMatchObject({ kind: "failed", code: "suspected_replay" });
  expect(await processors.effects(second.event.eventId)).toBe(0);
});

test("a suspected one calls when a person has retried it", async () => {
  const [first, second] = twins(2) as [EventJob, EventJob];
  const processor = caller();
  await accept(first);
  await age(first, 25);
  await processor.process(first);
  expect(await processor.process(second)).toMatchObject({ code: "suspected_replay" });
  expect(processor.calls).toHaveLength(1);
  await processors.ledger.retries.retryMany([second.event]);
  expect(await processor.process(again(second))).toMatchObject({ outcome: "handled" });
  expect(processor.calls).toEqual([first.event.eventId, second.event.eventId]);
});

test("where bodyDedup is false, each id calls", async () => {
  const processor = caller({ bodyDedup: false });
  for (const job of twins(2))
    expect(await processor.process(job)).toMatchObject({ outcome: "handled" });
  expect(processor.calls).toHaveLength(2);
});

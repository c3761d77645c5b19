import type { EventKey, Failpoint } from "@millrace/core";
import { runRetention } from "@millrace/operations";
import { afterEach, beforeEach, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { claim } from "../support/ledger-fixture.ts";
import { openTestRetention, type TestRetention } from "../support/retention-fixture.ts";

// Random lives of events, days that go by, and runs of the retention that die at random: after each
// step the ledger must hold exactly what a model of a few lines says that it holds.

const STEPS = 90;
const FAILPOINTS: Failpoint[] = [
  ...(["retention.moved", "retention.detached", "retention.keys_deleted"] as const),
];
const HOOK = Symbol.for("millrace.failpoint");

let it: TestRetention;
beforeEach(async () => {
  it = await openTestRetention();
});
afterEach(async () => {
  Reflect.deleteProperty(globalThis, HOOK);
  await it.close();
});

interface Generation {
  status: "pending" | "completed" | "failed";
  /** Days since the body's day, and since the event settled. */
  bodyAge: number;
  settledAge: number;
  hasBody: boolean;
}

type Model = Map<string, Generation[]>;
type Policy = { bodiesDays: number; keysDays: number };

test.each([1, 2, 3, 4])(
  "Whatever happens to events, the retention keeps and drops what it should (seed %i)",
  async (seed) => {
    const dice = createDice(seed);
    const policy: Policy = { bodiesDays: dice.upTo(20) + 1, keysDays: 25 + dice.upTo(20) };
    const model: Model = new Map();
    for (let step = 0; step < STEPS; step += 1) {
      const what = await takeStep(dice, model, policy);
      expect(await contents(), `seed ${seed}, step ${step}: ${what}`).toEqual(expected(model));
    }
    expect(model.size).toBeGreaterThan(0);
  },
);

async function takeStep(dice: Dice, model: Model, policy: Policy): Promise<string> {
  const roll = dice.upTo(12);
  if (roll < 4 || model.size === 0) return await take(dice, model);
  if (roll < 6) return await letDaysPass(dice.upTo(9) + 1, model);
  if (roll < 8) return await retain(dice, model, policy);
  const [eventId, generations] = dice.oneOf([...model]);
  const generation = generations.length - 1;
  const latest = generations[generation];
  if (latest === undefined) return "nothing";
  const key = { source: "shop", eventId, generation };
  if (latest.status === "pending")
    return await settle(key, latest, dice.oneOf(["completed", "failed"]));
  if (latest.status === "failed" && dice.upTo(2) === 0) return await retry(key, latest);
  return await replay(key, generations);
}

async function take(dice: Dice, model: Model): Promise<string> {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  const fresh: Generation = { status: "pending", bodyAge: 0, settledAge: 0, hasBody: true };
  model.set(event.eventId, [fresh]);
  if (dice.upTo(4) === 0) return "taken";
  return await settle(keyOf(event), fresh, dice.oneOf(["completed", "completed", "failed"]));
}

async function settle(
  key: EventKey,
  generation: Generation,
  status: "completed" | "failed",
): Promise<string> {
  await it.settle(key, await claim(it.ledger, { ...anEvent(), ...key, body: undefined }), status);
  Object.assign(generation, { status, settledAge: 0 });
  return status;
}

async function retry(key: EventKey, generation: Generation): Promise<string> {
  expect(await it.ledger.retries.retryMany([key])).toMatchObject([{ kind: "retried" }]);
  generation.status = "pending";
  return "retried";
}

async function replay(key: EventKey, generations: Generation[]): Promise<string> {
  const hasBody = generations.at(-1)?.hasBody === true;
  const kind = hasBody ? "replayed" : "body_missing";
  expect(await it.ledger.retries.replay([key])).toMatchObject([{ kind }]);
  if (hasBody) generations.push({ status: "pending", bodyAge: 0, settledAge: 0, hasBody });
  return kind;
}

async function letDaysPass(days: number, model: Model): Promise<string> {
  await it.ageAll(days);
  for (const generation of [...model.values()].flat()) {
    generation.bodyAge += days;
    generation.settledAge += days;
  }
  return `${days} days later`;
}

/** One that dies, and then one that does not. */
async function retain(dice: Dice, model: Model, policy: Policy): Promise<string> {
  const step = dice.oneOf(FAILPOINTS);
  let left = dice.upTo(3);
  Reflect.set(globalThis, HOOK, (reached: Failpoint) => {
    if (reached === step && (left -= 1) < 0) throw new Error("died");
  });
  const run = () =>
    it.untilAlone(() => runRetention({ ledger: it.retention, notify: () => {} }, policy));
  const dying = await run().catch((error: Error) => error.message);
  Reflect.deleteProperty(globalThis, HOOK);
  expect(["died", "done"]).toContain(typeof dying === "string" ? dying : dying.kind);
  expect(await run()).toMatchObject({ kind: "done", busy: [] });
  retainInModel(model, policy);
  return `retention, dying at ${step}`;
}

function retainInModel(model: Model, { bodiesDays, keysDays }: Policy): void {
  for (const [eventId, generations] of model) {
    for (const generation of generations) {
      if (generation.bodyAge <= bodiesDays) continue;
      if (generation.status === "completed") generation.hasBody = false;
      else generation.bodyAge = 0;
    }
    const isOver = ({ status, hasBody, settledAge }: Generation) =>
      status === "completed" && !hasBody && settledAge >= keysDays + 1;
    if (generations.every(isOver)) model.delete(eventId);
  }
}

type Row = { event_id: string; generation: number; status: string; has_body: boolean };

const contents = () =>
  it.ask<Row>(
    `SELECT e.event_id, e.generation, e.status, b.id IS NOT NULL AS has_body
     FROM millrace.events e
     LEFT JOIN millrace.bodies b ON b.day = e.body_day AND b.id = e.body_id
     ORDER BY e.event_id, e.generation`,
  );

function expected(model: Model): Row[] {
  return [...model]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([event_id, generations]) =>
      generations.map(({ status, hasBody: has_body }, generation) => ({
        ...{ event_id, generation, status, has_body },
      })),
    );
}

type Dice = ReturnType<typeof createDice>;

/** Numbers that look random and are the same for a seed (mulberry32). */
function createDice(seed: number) {
  let state = seed;
  function upTo(limit: number): number {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * limit);
  }
  return {
    /** A whole number from 0 to below the limit. */
    upTo,
    oneOf: <T>(things: readonly T[]): T => {
      const thing = things[upTo(things.length)];
      if (thing === undefined) throw new RangeError("Cannot choose one of nothing");
      return thing;
    },
  };
}

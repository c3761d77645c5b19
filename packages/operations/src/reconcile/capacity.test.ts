import { expect, test } from "vitest";
import { createCapacity } from "./capacity.ts";

/** Takes all the room that there is, up to a bound. */
async function takeAll(
  { depth, memoryShare, max }: { depth: number; memoryShare?: number; max: number },
  source = "acme",
): Promise<number> {
  const of = () => ({ depth, oldestAgeMs: undefined });
  const capacity = createCapacity(
    { measurePressure: async () => ({ memoryShare, of }) },
    () => max,
  );
  await capacity.refresh();
  let taken = 0;
  while (taken < 200_000 && capacity.take(source)) taken += 1;
  expect(capacity.has(source)).toBe(taken === 200_000);
  return taken;
}

test("A queue is filled to nine tenths of its depth, and what comes in finds the rest", async () => {
  expect(await takeAll({ depth: 0, max: 1_000 })).toBe(900);
  expect(await takeAll({ depth: 850, max: 1_000 })).toBe(50);
  expect(await takeAll({ depth: 950, max: 1_000 })).toBe(0);
  expect(await takeAll({ depth: 0, max: 1 })).toBe(1);
});

test("While memory is short a few jobs may wait, so that those that completed are thrown away", async () => {
  expect(await takeAll({ depth: 0, memoryShare: 0.74, max: 100_000 })).toBe(90_000);
  expect(await takeAll({ depth: 0, memoryShare: 0.9, max: 100_000 })).toBe(1_000);
  expect(await takeAll({ depth: 5_000, memoryShare: 0.9, max: 100_000 })).toBe(0);
  expect(await takeAll({ depth: 0, memoryShare: 0.9, max: 100 })).toBe(90);
});

test("There is no room in a queue that was not looked at yet", () => {
  const of = () => ({ depth: 0, oldestAgeMs: undefined });
  const capacity = createCapacity(
    { measurePressure: async () => ({ memoryShare: 0, of }) },
    () => 10,
  );
  expect(capacity.take("acme")).toBe(false);
});

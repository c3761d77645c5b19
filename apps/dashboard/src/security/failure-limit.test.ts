import { expect, test } from "vitest";
import { createFailureLimit } from "./failure-limit.ts";

function limitAt(clock: { ms: number }) {
  return createFailureLimit({ failuresMax: 2, windowMs: 1_000, keysMax: 2, nowMs: () => clock.ms });
}

test("a key waits for the rest of its window once it has failed too often", () => {
  const clock = { ms: 0 };
  const limit = limitAt(clock);
  limit.count("a");
  expect(limit.waitMs("a")).toBe(0);
  clock.ms = 400;
  limit.count("a");
  expect([limit.waitMs("a"), limit.failures("a"), limit.failures("b")]).toEqual([600, 2, 0]);
  expect(limit.waitMs("b")).toBe(0);
  clock.ms = 1_000;
  expect(limit.waitMs("a")).toBe(0);
});

test("no more keys than keysMax are remembered", () => {
  const limit = limitAt({ ms: 0 });
  for (const key of ["a", "a", "b", "b", "c", "c"]) limit.count(key);
  expect(["a", "b", "c"].map((key) => limit.waitMs(key) > 0)).toEqual([false, true, true]);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { rememberBriefly } from "./remember-briefly.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("calls within the time share one result, later ones ask anew", async () => {
  let calls = 0;
  const ask = rememberBriefly(1_000, async () => (calls += 1));
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  vi.setSystemTime(Date.now() + 1_000);
  expect(await ask()).toBe(2);
});

test("a failure is not remembered", async () => {
  let calls = 0;
  const ask = rememberBriefly(1_000, async () => {
    calls += 1;
    if (calls === 1) throw new Error("down");
    return calls;
  });
  await expect(ask()).rejects.toThrow("down");
  expect(await ask()).toBe(2);
});

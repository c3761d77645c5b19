import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cached } from "./cache.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const after = (ms: number) => vi.setSystemTime(Date.now() + ms);
const how = { ttlMinMs: 1_000, timesTaken: 20 };

test("calls within the time share one result, later ones ask anew", async () => {
  let calls = 0;
  const ask = cached(how, async () => (calls += 1));
  expect(await Promise.all([ask(), ask()])).toEqual([1, 1]);
  after(999);
  expect(await ask()).toBe(1);
  after(1);
  expect(await ask()).toBe(2);
});

test("what took long is remembered for twenty times as long", async () => {
  let calls = 0;
  const ask = cached(how, async () => {
    after(3_000);
    return (calls += 1);
  });
  expect(await ask()).toBe(1);
  after(59_999);
  expect(await ask()).toBe(1);
  after(1);
  expect(await ask()).toBe(2);
});

test("a failure is remembered for as long as it took to come", async () => {
  let calls = 0;
  const ask = cached(how, async () => {
    calls += 1;
    if (calls > 2) return calls;
    after(calls === 1 ? 0 : 5_000);
    throw new Error(`down ${calls}`);
  });
  await expect(ask()).rejects.toThrow("down 1");
  await expect(ask()).rejects.toThrow("down 2");
  after(4_999);
  await expect(ask()).rejects.toThrow("down 2");
  after(1);
  expect(await ask()).toBe(3);
});

test("each key has a result of its own, and no more than a hundred are kept", async () => {
  const asked: string[] = [];
  const ask = cached(how, async (key) => {
    asked.push(key);
    return key;
  });
  expect(await Promise.all([ask("a"), ask("b"), ask("a")])).toEqual(["a", "b", "a"]);
  expect(asked).toEqual(["a", "b"]);
  for (let number = 0; number < 99; number += 1) await ask(String(number));
  await ask("b");
  await ask("a");
  expect(asked.filter((key) => key === "b")).toHaveLength(1);
  expect(asked.filter((key) => key === "a")).toHaveLength(2);
});

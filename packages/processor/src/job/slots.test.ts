import { expect, test } from "vitest";
import { createSlots } from "./slots.ts";

const never = new AbortController().signal;

test("no more than the limit run at once, and a slot given back twice is given back once", async () => {
  const slots = createSlots(2);
  const first = await slots.acquire("a", never);
  await slots.acquire("a", never);
  let third = false;
  let fourth = false;
  void slots.acquire("a", never).then(() => (third = true));
  void slots.acquire("a", never).then(() => (fourth = true));
  first?.();
  first?.();
  await Promise.resolve();
  expect([third, fourth, slots.taken]).toEqual([true, false, 2]);
});

test("a source that holds every slot does not get the next one before the others", async () => {
  const slots = createSlots(2);
  const releases = [await slots.acquire("slow", never), await slots.acquire("slow", never)];
  const order: string[] = [];
  const done = ["slow", "slow", "quick"].map(async (source) => {
    await slots.acquire(source, never);
    order.push(source);
  });
  releases[0]?.();
  await done[2];
  expect(order).toEqual(["quick"]);
  releases[1]?.();
  await done[0];
  expect(order).toEqual(["quick", "slow"]);
});

test("a task whose signal aborts leaves the queue without a slot", async () => {
  const slots = createSlots(1);
  const release = await slots.acquire("a", never);
  const abort = new AbortController();
  const leaving = slots.acquire("a", abort.signal);
  const staying = slots.acquire("a", never);
  abort.abort();
  expect(await leaving).toBeUndefined();
  release?.();
  expect(await staying).toBeDefined();
  expect(await slots.acquire("a", AbortSignal.abort())).toBeUndefined();
  expect(slots.taken).toBe(1);
});

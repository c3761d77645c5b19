import { expect, test } from "vitest";
import { wait, settlesWithin, withDeadline } from "./deadline.ts";

const late = () => new Error("late");
const never = new Promise<never>(() => {});

test("a promise that is in time gives what it gives", async () => {
  expect(await withDeadline(Promise.resolve(5), 1_000, late)).toBe(5);
  await expect(withDeadline(Promise.reject(new Error("own")), 1_000, late)).rejects.toThrow("own");
});

test("a promise that is late is given up, and its rejection harms nobody", async () => {
  let fail = (_error: Error) => {};
  const slow = new Promise<never>((_resolve, reject) => (fail = reject));
  await expect(withDeadline(slow, 1, late)).rejects.toThrow("late");
  fail(new Error("nobody hears this"));
});

test("settlesWithin tells whether it settled, either way", async () => {
  expect(await settlesWithin(Promise.reject(new Error("x")), 1_000)).toBe(true);
  expect(await settlesWithin(never, 1)).toBe(false);
});

test("a wait ends when its signal aborts, before or meanwhile", async () => {
  await wait(3_600_000, AbortSignal.abort());
  const controller = new AbortController();
  const waiting = wait(3_600_000, controller.signal);
  controller.abort();
  await waiting;
});

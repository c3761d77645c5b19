import { afterEach, expect, test, vi } from "vitest";
import { Deadlines, LazySignal, wait, settlesWithin, withDeadline } from "./deadline.ts";

const late = () => new Error("late");
afterEach(() => void vi.useRealTimers());

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

test("each of many waits ends when its own time is up, and one that was ended does not", () => {
  vi.useFakeTimers();
  const ended: string[] = [];
  const deadlines = new Deadlines<string>(100, (item) => ended.push(item));
  deadlines.add("first");
  vi.advanceTimersByTime(40);
  const answered = deadlines.add("answered");
  vi.advanceTimersByTime(20);
  deadlines.add("last");
  deadlines.delete(answered);
  vi.advanceTimersByTime(39);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(ended).toEqual(["first"]);
  vi.advanceTimersByTime(59);
  expect(ended).toEqual(["first"]);
  vi.advanceTimersByTime(1);
  expect(ended).toEqual(["first", "last"]);
});

test("a wait that begins as another ends holds up none of those between", () => {
  vi.useFakeTimers();
  const ended: string[] = [];
  const deadlines = new Deadlines<string>(100, (item) => {
    ended.push(item);
    if (item === "again") deadlines.add("its second");
  });
  deadlines.add("again");
  vi.advanceTimersByTime(40);
  deadlines.add("between");
  vi.advanceTimersByTime(60);
  expect(ended).toEqual(["again"]);
  vi.advanceTimersByTime(40);
  expect(ended).toEqual(["again", "between"]);
  vi.advanceTimersByTime(60);
  expect(ended).toEqual(["again", "between", "its second"]);
  expect(vi.getTimerCount()).toBe(0);
});

test("no timer is left when nothing waits", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines<string>(100, () => {});
  const a = deadlines.add("a");
  deadlines.delete(a);
  deadlines.delete(a);
  expect(vi.getTimerCount()).toBe(0);
  deadlines.add("b");
  vi.advanceTimersByTime(100);
  expect(vi.getTimerCount()).toBe(0);
});

test("listeners are called once, when it aborts, with its first reason to read", () => {
  const signal = new LazySignal();
  const listener = vi.fn<() => unknown>(() => signal.reason);
  signal.addEventListener("abort", listener);
  signal.abort("first");
  signal.abort("second");
  expect(listener).toHaveReturnedWith("first");
  expect(listener).toHaveBeenCalledOnce();
});

test("a listener that was removed, or came after the abort, is not called", () => {
  const signal = new LazySignal();
  const [removed, added] = [vi.fn<() => void>(), vi.fn<() => void>()];
  signal.addEventListener("abort", removed);
  signal.removeEventListener("abort", removed);
  signal.abort("over");
  signal.addEventListener("abort", added);
  expect(removed).not.toHaveBeenCalled();
  expect(added).not.toHaveBeenCalled();
});

test.each([
  ["before", (lazy: LazySignal) => ({ signal: lazy.signal, abort: () => lazy.abort("over") })],
  [
    "after",
    (lazy: LazySignal) => {
      lazy.abort("over");
      return { signal: lazy.signal, abort: () => {} };
    },
  ],
])("an AbortSignal that is asked for %s the abort has its reason", (_when, ask) => {
  const { signal, abort } = ask(new LazySignal());
  abort();
  expect(signal.aborted).toBe(true);
  expect(signal.reason).toBe("over");
});

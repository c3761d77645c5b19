import { expect, test, vi } from "vitest";
import { LazySignal } from "./lazy-signal.ts";

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
  const [removed, late] = [vi.fn<() => void>(), vi.fn<() => void>()];
  signal.addEventListener("abort", removed);
  signal.removeEventListener("abort", removed);
  signal.abort("over");
  signal.addEventListener("abort", late);
  expect(removed).not.toHaveBeenCalled();
  expect(late).not.toHaveBeenCalled();
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

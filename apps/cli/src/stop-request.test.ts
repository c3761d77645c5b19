import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { onStopRequest } from "./stop-request.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

function listen() {
  let press: (signal: NodeJS.Signals) => void = () => {};
  const atOnce = vi.fn<() => void>();
  const stop = onStopRequest(
    {
      onStopSignal: (listener) => {
        press = listener;
        return () => (press = () => {});
      },
    },
    atOnce,
  );
  return { press: (signal: NodeJS.Signals) => press(signal), atOnce, stop };
}

test("the first press asks for a good end", async () => {
  const { press, atOnce, stop } = listen();
  press("SIGINT");
  await stop.requested;
  expect(stop.signal.aborted).toBe(true);
  expect(atOnce).not.toHaveBeenCalled();
});

test("the copy of a press that npm passes on is not a second press", () => {
  const { press, atOnce } = listen();
  press("SIGINT");
  vi.advanceTimersByTime(50);
  press("SIGINT");
  expect(atOnce).not.toHaveBeenCalled();
});

test("a second press ends it at once", () => {
  const { press, atOnce } = listen();
  press("SIGINT");
  vi.advanceTimersByTime(1_000);
  press("SIGTERM");
  expect(atOnce).toHaveBeenCalledTimes(1);
});

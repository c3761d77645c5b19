import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLogWriter, type LogSink } from "./logger.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A disk that refuses some tries or all, and takes at most so many bytes at once. */
function disk() {
  const state = { refusals: 0, code: "ENOSPC", atOnce: Infinity, taken: Buffer.alloc(0), tries: 0 };
  const take = (bytes: Buffer) => {
    state.tries += 1;
    if (state.tries <= state.refusals) throw Object.assign(new Error(), { code: state.code });
    const taken = bytes.subarray(0, state.atOnce);
    state.taken = Buffer.concat([state.taken, taken]);
    return taken.length;
  };
  const sink: LogSink = {
    writeSync: take,
    write: (bytes, done) =>
      void setTimeout(() => {
        try {
          done(null, take(bytes));
        } catch (error) {
          done(error as Error, 0);
        }
      }),
  };
  return { state, sink };
}

test("lines come whole and in order, also where the disk takes some bytes at a time", async () => {
  const { state, sink } = disk();
  const writer = createLogWriter(() => {}, sink);
  state.atOnce = 3;
  writer.write("first\n");
  writer.write("sécond\n");
  await vi.runAllTimersAsync();
  writer.write("third\n");
  await vi.runAllTimersAsync();
  expect(state.taken.toString()).toBe("first\nsécond\nthird\n");
});

test("what a full disk refused is written when there is room again", async () => {
  const { state, sink } = disk();
  const writer = createLogWriter(() => {}, sink);
  state.refusals = Infinity;
  writer.write("first\n");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(state.tries).toBeLessThan(8);
  writer.write("second\n");
  state.refusals = 0;
  await vi.runAllTimersAsync();
  expect(state.taken.toString()).toBe("first\nsecond\n");
});

test("what comes when too much waits is lost, and how many lines is told afterwards", async () => {
  const { state, sink } = disk();
  const writer = createLogWriter((count) => writer.write(`${count} lost\n`), sink);
  state.refusals = Infinity;
  const line = `${"x".repeat(1_023)}\n`;
  for (let n = 0; n < 1_030; n += 1) writer.write(line);
  state.refusals = 0;
  await vi.runAllTimersAsync();
  expect(state.taken.toString()).toBe(`${line.repeat(1_024)}6 lost\n`);
});

test("the end of the process writes what waits, and does not wait for room", () => {
  const { state, sink } = disk();
  const writer = createLogWriter(() => {}, sink);
  writer.write("under way\n");
  writer.write("last\n");
  writer.flushSync();
  expect(state.taken.toString()).toBe("last\n");

  state.refusals = Infinity;
  const before = state.tries;
  writer.flushSync();
  expect(state.tries).toBe(before + 1);
});

test("the end of the process waits a moment for a reader that is slow", () => {
  const { state, sink } = disk();
  Object.assign(state, { refusals: 2, code: "EAGAIN", atOnce: 4 });
  const writer = createLogWriter(() => {}, { ...sink, write: () => {} });
  writer.write("under way\n");
  writer.write("last\n");
  writer.flushSync();
  expect(state.taken.toString()).toBe("last\n");
});

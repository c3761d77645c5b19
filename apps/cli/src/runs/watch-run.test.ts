import type { BulkRun } from "@millrace/api-contract";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchRun } from "./watch-run.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const RUN = {
  ...{ id: 7, verb: "retry", state: "running", error: null, listed: 0, done: 0, total: 40 },
  ...{ skipped: {}, errors: 0, results: { completed: 0, failed: 0, pending: 0 } },
  ...{ taken_at: "2026-11-28T10:00:00Z", finished_at: null },
};

/** Watches a run that is next what `states` say, and then stays as the last. */
async function watch(states: readonly object[], seconds: number) {
  const written = { stdout: "", stderr: "" };
  const next = states.map((state) => ({ ...RUN, ...state }) as unknown as BulkRun);
  let stop = () => {};
  const context = {
    stdout: { write: (text: string) => void (written.stdout += text) },
    stderr: { write: (text: string) => void (written.stderr += text) },
    onStopSignal: (listener: () => void) => {
      stop = listener;
      return () => {};
    },
  };
  const get = async () => (next.length > 1 ? next.shift() : next[0]);
  const ledger = { bulkRuns: { get } } as never;
  const watching = watchRun(context as never, ledger, RUN as unknown as BulkRun, undefined);
  await vi.advanceTimersByTimeAsync(seconds * 1_000);
  stop();
  return { code: await watching, ...written };
}

test("a run that is held says so once, and its end says why it was stopped", async () => {
  const held = (events: number) => `The limit holds the run: ${events} events have no result yet`;
  const stopped = { state: "stopped", finished_at: "2026-11-28T10:01:00Z", error: "Stopped: 9" };
  const states = [{ error: held(20) }, { error: held(25) }, stopped];
  expect(await watch(states, 4)).toEqual({
    code: 1,
    stdout: "0 ran: 0 completed\nStopped: 9\n",
    stderr: `run 7: ${held(20)}\n`,
  });
});

test("a paused run that is not watched any more is said to be paused", async () => {
  expect(await watch([{ state: "paused" }], 2)).toMatchObject({
    stderr:
      "run 7: paused\nStopped watching; the run is paused. Resume it with: millrace runs resume 7\n",
  });
});

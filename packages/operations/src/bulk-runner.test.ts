import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startBulkRunner } from "./bulk-runner.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function work(judge: () => Promise<number | "stopped">) {
  const sizes: number[] = [];
  const run = { id: 1, verb: "give_up", rate: 1_000, state: "running", error: null, filter: {} };
  const bulkWork = {
    open: async () => [{ ...run, canaryState: null, failedShareMax: 0.2 }],
    judge,
    keepResults: async () => {},
    workBatch: async (_run: unknown, { size }: { size: number }) => {
      sizes.push(size);
      return { kind: "done", events: [], givenUp: [], ended: false };
    },
  };
  const notices: string[] = [];
  const runner = startBulkRunner({
    ...{ ledger: { bulkWork, retries: { markEnqueued: async () => {} } }, queues: {} },
    ...{ leading: () => true, notify: ({ kind }: { kind: string }) => void notices.push(kind) },
  } as never);
  const close = async () => {
    const closed = runner.close();
    await vi.runOnlyPendingTimersAsync();
    await closed;
  };
  return { sizes, notices, close };
}

test("a run with a limit reaches as many events as its results allow, and no more", async () => {
  const left = [20, 0, 5];
  const { sizes, notices, close } = work(async () => left.shift() ?? "stopped");
  await vi.advanceTimersByTimeAsync(5_000);
  await close();
  expect(sizes).toEqual([20, 5]);
  expect(notices).toContain("ended");
});

test("a count of results that took long is not repeated at once, while the run waits", async () => {
  let judged = 0;
  const { sizes, close } = work(async () => {
    judged += 1;
    await new Promise((resolve) => setTimeout(resolve, 400));
    return 0;
  });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(judged).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(judged).toBe(2);
  await close();
  expect(sizes).toEqual([]);
});

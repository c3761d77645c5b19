import { MillraceError } from "@millrace/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startBulkRunner } from "./bulk-runner.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ALL_MAY = { rate: 50, failedShareMax: null };
const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function work(
  judge: () => Promise<number | "stopped">,
  over: object = {},
  around: (size: number) => Promise<unknown> = async () => {},
) {
  const sizes: number[] = [];
  const run = { id: 1, verb: "give_up", rate: 1_000, state: "running", error: null, filter: {} };
  const bulkWork = {
    open: async () => [{ ...run, canaryState: null, failedShareMax: 0.2, ...over }],
    judge,
    keepResults: async () => {},
    noteError: async () => {},
    workBatch: async (_run: unknown, { size }: { size: number }) => {
      sizes.push(size);
      await around(size);
      const givenUp = Array.from({ length: size }, () => ({ source: "shop" }));
      return { kind: "done", events: [], givenUp, ended: false };
    },
  };
  const notices: string[] = [];
  const runner = startBulkRunner({
    ledger: { bulkWork, retries: { markEnqueued: async () => {} } },
    queues: { queues: new Map() },
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
    await later(400);
    return 0;
  });
  await vi.advanceTimersByTimeAsync(4_000);
  expect(judged).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(judged).toBe(2);
  await close();
  expect(sizes).toEqual([]);
});

test("a run whose batches take long keeps its rate by larger ones", async () => {
  const { sizes, close } = work(
    async () => 0,
    ALL_MAY,
    () => later(400),
  );
  await vi.advanceTimersByTimeAsync(4_000);
  await close();
  // A fifth of a second's events at first.
  expect(sizes[0]).toBe(10);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(150);
});

test("a run does not begin with a second's events at once", async () => {
  const { sizes, close } = work(async () => 0, { ...ALL_MAY, rate: 10 });
  await vi.advanceTimersByTimeAsync(900);
  await close();
  expect(sizes).toEqual([2, 2, 2, 2, 2]);
});

test("a run whose batch is too large for Postgres goes on with smaller ones", async () => {
  const refuse = async (size: number) => {
    if (size > 3) throw new MillraceError("database_unavailable", "Cannot answer in time");
  };
  const { sizes, close } = work(async () => 0, { ...ALL_MAY, rate: 60 }, refuse);
  await vi.advanceTimersByTimeAsync(4_000);
  await close();
  expect(sizes.slice(0, 3)).toEqual([12, 6, 3]);
});

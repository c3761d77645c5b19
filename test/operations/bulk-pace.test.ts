import { MillraceError } from "@millrace/core";
import { createOperator, startBulkRunner } from "@millrace/operations";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { onPostgres } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { type TestStores, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";

const stores = useStores(onPostgres);

type WorkBatch = TestStores["ledger"]["bulkWork"]["workBatch"];

async function run(
  prefix: string,
  count: number,
  ratePerSecond: number,
  around: (size: number) => Promise<void>,
): Promise<readonly number[]> {
  const { ledger, queues } = stores;
  await ledger.intake.accept(Array.from({ length: count }, (_, n) => event(`${prefix}${n}`)));
  const sizes: number[] = [];
  const workBatch: WorkBatch = async (open, options) => {
    sizes.push(options.size);
    await around(options.size);
    return await ledger.bulkWork.workBatch(open, options);
  };
  const actor = { user: "ops", role: "operator", via: "cli" } as const;
  const { id } = await createOperator(stores, actor).startRun("give_up", {
    ...{ filter: { q: prefix }, ratePerSecond },
  });
  const runner = startBulkRunner({
    ledger: { ...ledger, bulkWork: { ...ledger.bulkWork, workBatch } },
    ...{ queues, leading: () => true, notify: () => {} },
  });
  const ended = await until(async () => {
    const now = await ledger.bulkRuns.get(id);
    return now.finished_at !== null && now;
  });
  await runner.close();
  expect(ended).toMatchObject({ state: "finished", done: count, skipped: {}, error: null });
  return sizes;
}

test("a run whose batches take long keeps its rate by larger ones", async () => {
  // A fifth of a second's events are ten: twelve batches would take more than twice the time.
  const sizes = await run("slow_", 120, 50, () => sleep(400));
  expect(sizes[0]).toBe(10);
  expect(sizes.length).toBeLessThan(10);
});

test("a run begins with a fifth of a second's events, and not with a second's at once", async () => {
  const began = performance.now();
  await run("first_", 12, 10, async () => {});
  expect(performance.now() - began).toBeGreaterThan(900);
});

test("a run whose batch is too large for Postgres goes on with smaller ones", async () => {
  const sizes = await run("large_", 12, 60, async (size) => {
    if (size > 3) throw new MillraceError("database_unavailable", "Cannot answer in time");
  });
  expect(sizes.slice(0, 3)).toEqual([12, 6, 3]);
});

import type { BulkRun, BulkVerb } from "@millrace/api-contract";
import { createRetentionLedger } from "@millrace/ledger";
import { createOperator, startBulkRunner, type BulkRunOptions } from "@millrace/operations";
import { RetryLater } from "millrace";
import { afterEach, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { type TestStores, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";

onOneBackend("a bulk run", (prepare) => {
  const stores = useStores(prepare);
  const runners = new Set<ReturnType<typeof startBulkRunner>>();

  afterEach(async () => {
    await Promise.all([...runners].map((runner) => runner.close()));
    runners.clear();
  });

  const actor = { user: "ops", role: "operator", via: "cli" } as const;
  const start = (verb: BulkVerb, options: BulkRunOptions): Promise<BulkRun> =>
    createOperator(stores, actor).startRun(verb, options);
  const get = (run: BulkRun) => stores.ledger.bulkRuns.get(run.id);
  const change = (run: BulkRun, to: Parameters<TestStores["ledger"]["bulkRuns"]["change"]>[1]) =>
    createOperator(stores, actor).changeRun(run.id, to);
  const finished = (run: BulkRun) =>
    until(async () => {
      const now = await get(run);
      return now.finished_at !== null && now;
    });

  function lead(over: Partial<Parameters<typeof startBulkRunner>[0]> = {}) {
    const runner = startBulkRunner({
      ledger: stores.ledger,
      queues: stores.queues,
      leading: () => true,
      notify: () => {},
      ...over,
    });
    runners.add(runner);
    return runner;
  }

  const query = async <Row extends object>(text: string, prefix: string): Promise<Row[]> =>
    (await stores.pool.query<Row>(text, [prefix])).rows;
  const statuses = async (prefix: string): Promise<Record<string, number>> => {
    const rows = await query<{ status: string; events: number }>(
      `SELECT status, count(*)::int AS events FROM millrace.events
       WHERE starts_with(event_id, $1) GROUP BY 1`,
      prefix,
    );
    return Object.fromEntries(rows.map(({ status, events }) => [status, events]));
  };

  async function take(prefix: string, count: number): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => event(`${prefix}${n}`));
    const identityOnly = stores.queues.backend === "postgres";
    if (identityOnly) await stores.ledger.intake.accept(events);
    await stores.queues.enqueue(events, { identityOnly });
  }

  async function settle(prefix: string, count: number, run: (id: string) => void = () => {}) {
    const ran = new Map<string, number>();
    await stores.work(
      ({ id, generation }) => {
        ran.set(`${id} ${generation}`, (ran.get(`${id} ${generation}`) ?? 0) + 1);
        run(id);
      },
      () =>
        until(async () => {
          const { pending = 0, completed = 0, failed = 0 } = await statuses(prefix);
          const jobs = [...(await stores.queues.counts()).values()];
          const busy = jobs.some((of) => of.active + of.waiting + of.delayed > 0);
          return pending === 0 && completed + failed === count && !busy;
        }),
    );
    return ran;
  }

  async function fail(prefix: string, count: number): Promise<void> {
    await take(prefix, count);
    await settle(prefix, count, () => {
      throw new Error("the switch is off");
    });
    expect(await statuses(prefix)).toEqual({ failed: count });
  }

  test("is paused, slowed down, resumed, and stopped, and what was done stays done", async () => {
    await fail("slow_", 12);
    const run = await start("retry", { filter: { q: "slow_" }, ratePerSecond: 5 });
    lead();
    await until(async () => (await get(run)).done >= 2);
    const paused = await change(run, { state: "paused" });
    // A worker that has read the run just before.
    const [found] = await stores.ledger.bulkWork.open();
    if (found === undefined) throw new Error("Cannot find the open run");
    const batch = { size: 10, isConfigured: () => true };
    expect(await stores.ledger.bulkWork.workBatch(found, batch)).toEqual({ kind: "superseded" });
    expect((await get(run)).done).toBe(paused.done);
    expect(paused).toMatchObject({ state: "paused", finished_at: null });
    await change(run, { state: "running", rate: 1 });
    await until(async () => (await get(run)).done > paused.done);
    const stopped = await change(run, { state: "stopped" });
    expect(stopped.done).toBeLessThan(12);
    expect(stopped).toMatchObject({ state: "stopped", rate: 1, estimate_seconds: null });
    expect(await statuses("slow_")).toEqual({ pending: stopped.done, failed: 12 - stopped.done });
    await change(run, { state: "running", rate: 100 });
    expect(await finished(run)).toMatchObject({ state: "finished", done: 12 });
    await expect(change(run, { state: "running" })).rejects.toMatchObject({ code: "run_ended" });
    await settle("slow_", 12);
  });

  test("a canary runs one event of each type first, holds the others, and stops the run where one fails again", async () => {
    const types = ["a", "a", "a", "a", "b", "c"];
    const events = types.map((type, n) => event(`canary_${type}${n}`, { type }));
    await stores.queues.enqueue(events, { identityOnly: false });
    await settle("canary_", 6, () => {
      throw new Error("the switch is off");
    });
    const run = await start("retry", { filter: { q: "canary_" }, canary: 3 });
    lead();
    await until(async () => (await get(run)).error !== null);
    expect(await get(run)).toMatchObject({
      ...{ state: "running", canary: 3, canary_state: "running", listed: 3 },
      error: "The canary holds the run: 0 of 3 events completed",
    });
    const [a, b, c] = await stores.ask<{ event_id: string }>(
      "SELECT event_id FROM millrace.events WHERE status = 'pending' ORDER BY event_id",
    );
    expect(a?.event_id).toMatch(/^canary_a/);
    expect([b?.event_id, c?.event_id]).toEqual(["canary_b4", "canary_c5"]);
    await settle("canary_", 6, (id) => {
      if (id === "canary_c5") throw new Error("still off");
    });
    expect(await finished(run)).toMatchObject({
      ...{ state: "stopped", done: 3, results: { completed: 2, failed: 1, pending: 0 } },
      error: expect.stringContaining("1 of 3 canary events failed again"),
    });
    await change(run, { state: "running" });
    // The one that failed again is not one of the others.
    expect(await finished(run)).toMatchObject({ done: 6, error: null, canary_state: "passed" });
    await settle("canary_", 6);

    const again = await start("replay", { filter: { q: "canary_" }, canary: 1, limit: 4 });
    await settle("canary_", 10);
    expect(await finished(again)).toMatchObject({ done: 4, listed: 4, canary_state: "passed" });
  });

  test("waits for results, stops itself when more than its share fails again, and goes on without the limit when it is resumed", async () => {
    await fail("share_", 40);
    const options = { filter: { q: "share_" }, failedShareMax: 0.2, ratePerSecond: 200 };
    const run = await start("retry", options);
    lead();
    await until(async () => (await get(run)).error !== null);
    expect(await get(run)).toMatchObject({
      ...{ state: "running", done: 20, estimate_seconds: null },
      error: "The limit holds the run: 20 events have no result yet",
    });
    const { done } = await change(run, { state: "paused" });
    await settle("share_", 40, (id) => {
      if (/[0-4]$/.test(id)) throw new Error("still off");
    });
    await change(run, { state: "running" });
    expect(await finished(run)).toMatchObject({
      ...{ state: "stopped", done },
      error: expect.stringMatching(
        /^Stopped: \d+ of \d+ events failed an attempt again, and at most 20 % may/,
      ),
    });
    await change(run, { state: "running", rate: 200 });
    expect(await finished(run)).toMatchObject({ done: 40, failed_share_max: null });
    await settle("share_", 40);
    await expect(start("give_up", { ...options })).rejects.toMatchObject({
      code: "invalid_request",
    });
  });

  test("of pending events runs the delayed ones now; it waits for the queue, says why, and goes on", async () => {
    await take("cut_", 4);
    const delay = () => Promise.reject(new RetryLater({ afterMs: 600_000 }));
    await stores.work(delay, () =>
      until(async () => (await stores.queues.counts()).get("acme")?.delayed === 4),
    );
    let away = true;
    const ping = () =>
      away ? Promise.reject(new Error("the queue is away")) : stores.queues.ping();
    lead({ queues: { ...stores.queues, ping } });
    const run = await start("retry", { filter: { q: "cut_", status: "pending" } });
    await until(async () => (await get(run)).error !== null);
    expect(await get(run)).toMatchObject({ state: "running", done: 0, taken_at: null });
    away = false;
    expect(await finished(run)).toMatchObject({ state: "finished", done: 4, error: null });
    await settle("cut_", 4, (id) => {
      if (id === "cut_3") throw new Error("still off");
    });
    expect(await get(run)).toMatchObject({
      ...{ results: { completed: 3, failed: 1, pending: 0 }, errors: 1 },
    });
  });

  test("reaches what was there when it was started, the newest first, and skips unknown sources", async () => {
    await fail("snap_", 3);
    await stores.ledger.intake.accept([event("snap_strange", { source: "stranger" })]);
    await stores.ledger.claims.abandonEvent(
      { source: "stranger", eventId: "snap_strange", generation: 0 },
      { code: "gave_up", message: "no luck", run: "1" },
    );
    const newest = await start("retry", { filter: { q: "snap_" }, limit: 2 });
    const all = await start("retry", { filter: { q: "snap_" } });
    await change(all, { state: "paused" });
    await fail("snap_later_", 2);
    lead();
    expect(await finished(newest)).toMatchObject({
      ...{ listed: 2, done: 1, skipped: { unknown_source: 1 } },
    });
    await change(all, { state: "running" });
    expect(await finished(all)).toMatchObject({ done: 2, skipped: { unknown_source: 1 } });
    expect(await statuses("snap_later_")).toEqual({ failed: 2 });
    await settle("snap_", 6);
  });

  test("needs a filter or all, and the number of all or of more than 1,000", async () => {
    const answer = (options: BulkRunOptions) =>
      start("replay", options).then(
        () => "started",
        (error: { code?: string }) => error.code,
      );
    await stores.ledger.intake.accept(Array.from({ length: 1_001 }, (_, n) => event(`bulk_${n}`)));
    const filter = { q: "bulk_" };
    const answers: readonly [string, BulkRunOptions][] = [
      ["invalid_request", { filter: {} }],
      ["unknown_source", { filter: { source: "stranger" } }],
      ["count_mismatch", { filter: {}, all: true }],
      ["count_mismatch", { filter: {}, all: true, expected: 1 }],
      ["count_mismatch", { filter }],
      ["count_mismatch", { filter, expected: 909 }],
      ["started", { filter, limit: 1_000 }],
      ["started", { filter, expected: 910 }],
    ];
    for (const [expected, options] of answers) expect(await answer(options)).toBe(expected);
    const counted = await createOperator(stores, actor).countRun("replay", { filter });
    expect(counted).toEqual({ count: 1_001, more: false, skipped: { not_settled: 1_001 } });
    lead();
    const runs = await until(async () => {
      const [last, first] = await stores.ledger.bulkRuns.find({ limit: 2 });
      return first?.listed !== 0 && last?.listed !== 0 && [last, first];
    });
    for (const run of runs) if (run !== undefined) await change(run, { state: "stopped" });
  });

  test("is deleted by the retention with its members, once it is old", async () => {
    const retention = createRetentionLedger(stores);
    const count = async () =>
      (
        await stores.ask(
          `SELECT (SELECT count(*)::int FROM millrace.bulk_runs) AS runs,
             (SELECT count(*)::int FROM millrace.bulk_members) AS members`,
        )
      )[0];
    const before = await count();
    expect(await retention.deleteRuns(90)).toBe(false);
    expect(await count()).toEqual(before);
    await stores.ask("UPDATE millrace.bulk_runs SET finished_at = now() - interval '31 days'");
    expect(await retention.deleteRuns(90)).toBe(true);
    expect(await retention.deleteRuns(90)).toBe(false);
    expect(await count()).toEqual({ runs: 0, members: 0 });
  });
});

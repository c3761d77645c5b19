import { replayMany, retryMany } from "@millrace/operations";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { openTestStores, type TestStores } from "../support/stores-fixture.ts";

onEachBackend("many events", (prepare) => {
  let stores: TestStores;

  beforeAll(async () => {
    stores = await openTestStores(await prepare());
  });
  afterAll(() => stores?.close());

  const statuses = async (prefix: string): Promise<Record<string, number>> => {
    const { rows } = await stores.pool.query<{ status: string; events: number }>(
      `SELECT status, count(*)::int AS events FROM millrace.events
       WHERE starts_with(event_id, $1) GROUP BY 1`,
      [prefix],
    );
    return Object.fromEntries(rows.map(({ status, events }) => [status, events]));
  };
  const retryAll = (q: string, how: Partial<Parameters<typeof retryMany>[1]> = {}) =>
    retryMany(stores, { filter: { q }, ...how });
  const replayAll = (q: string, how: Partial<Parameters<typeof replayMany>[1]> = {}) =>
    replayMany(stores, { filter: { q }, ...how });

  /** Takes so many events whose ids begin alike. */
  async function take(prefix: string, count: number, source = "acme"): Promise<void> {
    const events = Array.from({ length: count }, (_, n) => event(`${prefix}${n}`, { source }));
    if (stores.queues.backend === "postgres") await stores.ledger.intake.accept(events);
    const identityOnly = stores.queues.backend === "postgres";
    await stores.queues.enqueue(events, { identityOnly });
  }

  /** Works until none of the events is pending and every job has ended; counts the runs of each. */
  async function settle(prefix: string, count: number, run: () => void = () => {}) {
    const runs = new Map<string, number>();
    await stores.work(
      ({ id, generation }) => {
        if (!id.startsWith(prefix)) return;
        runs.set(`${id} ${generation}`, (runs.get(`${id} ${generation}`) ?? 0) + 1);
        run();
      },
      () =>
        until(async () => {
          const { pending = 0, completed = 0, failed = 0 } = await statuses(prefix);
          const counts = [...(await stores.queues.counts()).values()];
          const busy = counts.some((jobs) => jobs.active + jobs.waiting + jobs.delayed > 0);
          return pending === 0 && completed + failed === count && !busy;
        }),
    );
    return runs;
  }

  async function fail(prefix: string, count: number, source?: string): Promise<void> {
    await take(prefix, count, source);
    await settle(prefix, count, () => {
      throw new Error("the switch is off");
    });
    expect(await statuses(prefix)).toEqual({ failed: count });
  }

  test("that failed are healed by one retry, each by one run", async () => {
    await fail("heal_", 100);
    expect(await retryAll("heal_")).toEqual({ done: 100, skipped: {} });
    const runs = await settle("heal_", 100);
    expect(runs.size).toBe(100);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    expect(await statuses("heal_")).toEqual({ completed: 100 });
    expect(await retryAll("heal_")).toEqual({ done: 0, skipped: {} });
  });

  test("retried by two operators at once are retried once each", async () => {
    await fail("both_", 100);
    const results = await Promise.all([retryAll("both_"), retryAll("both_"), retryAll("both_")]);
    expect(results.reduce((sum, { done }) => sum + done, 0)).toBe(100);
    const runs = await settle("both_", 100);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    const { rows } = await stores.pool.query(
      "SELECT DISTINCT attempts FROM millrace.events WHERE starts_with(event_id, 'both_')",
    );
    expect(rows).toEqual([{ attempts: 2 }]);
  });

  test("whose jobs are gone from the queue, or say completed, are retried all the same", async () => {
    await fail("lost_", 6);
    const queue = stores.queues.queues.get("acme");
    for (const id of ["lost_0", "lost_1"]) await queue?.remove(id);
    for (const id of ["lost_2", "lost_3"]) await completeBehindOurBack(id);
    expect(await retryAll("lost_")).toEqual({ done: 6, skipped: {} });
    const runs = await settle("lost_", 6);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    expect(await statuses("lost_")).toEqual({ completed: 6 });
  });

  /** Lets the failed event's job end as completed, without the ledger. */
  async function completeBehindOurBack(eventId: string): Promise<void> {
    const queue = stores.queues.queues.get("acme");
    await queue?.remove(eventId);
    await stores.queues.enqueue([event(eventId)], { identityOnly: true });
    await stores.workBlindly(() =>
      until(async () => (await stores.job(eventId))?.state === "completed"),
    );
  }

  test("of a dry run stay as they are, and are counted as they would be", async () => {
    await fail("dry_", 7);
    await take("dry_more_", 2);
    const before = await stores.queues.counts();
    expect(await retryAll("dry_", { dryRun: true })).toEqual({ done: 7, skipped: {} });
    expect(await replayAll("dry_", { dryRun: true })).toMatchObject({ done: 7 });
    expect(await stores.queues.counts()).toEqual(before);
    const { failed } = await statuses("dry_");
    expect(failed).toBe(7);
    await settle("dry_more_", 2);
  });

  test("that were settled are replayed once each, and what is pending is told", async () => {
    await take("again_", 20);
    await settle("again_", 20);
    await stores.ledger.intake.accept([event("again_pending")]);
    expect(await replayAll("again_")).toEqual({ done: 20, skipped: { not_settled: 1 } });
    expect((await replayAll("again_", { limit: 5 })).skipped).toEqual({ not_settled: 5 });
    await stores.queues.enqueue([event("again_pending")], { identityOnly: true });
    const runs = await settle("again_", 41);
    expect(runs.size).toBe(21);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    const once = await replayAll("again_", { dryRun: true });
    expect(once).toEqual({ done: 21, skipped: { superseded: 20 } });
  });

  test("are chosen by source, type, time and number, the newest first", async () => {
    await fail("pick_a_", 3);
    await fail("pick_b_", 3, "patient");
    const dry = async (filter: object, limit?: number) =>
      (await retryMany(stores, { filter: { q: "pick_", ...filter }, limit, dryRun: true })).done;
    expect(await dry({})).toBe(6);
    expect(await dry({ source: "patient" })).toBe(3);
    expect(await dry({ type: "no.such" })).toBe(0);
    expect(await dry({ since: new Date(Date.now() + 60_000) })).toBe(0);
    expect(await dry({ until: new Date(Date.now() + 60_000) })).toBe(6);
    expect(await dry({}, 4)).toBe(4);
    expect(await retryAll("pick_", { limit: 3 })).toEqual({ done: 3, skipped: {} });
    expect(await statuses("pick_b_")).toEqual({ pending: 3 });
    expect(await statuses("pick_a_")).toEqual({ failed: 3 });
    await settle("pick_b_", 3);
  });

  test("that are being retried stop when it is cancelled, and it says how far it came", async () => {
    await fail("stop_", 12);
    const stop = new AbortController();
    const heard: number[] = [];
    const result = await retryAll("stop_", {
      ratePerSecond: 10,
      signal: stop.signal,
      onProgress: ({ done }) => {
        heard.push(done);
        if (done >= 4) stop.abort();
      },
    });
    expect(result).toEqual({ done: 4, skipped: {}, stopped: "cancelled" });
    expect(heard).toEqual([2, 4]);
    expect(await statuses("stop_")).toEqual({ pending: 4, failed: 8 });
    const none = await retryAll("stop_", { signal: stop.signal });
    expect(none).toEqual({ done: 0, skipped: {}, stopped: "cancelled" });
    await settle("stop_", 12);
  });

  test("that are being retried when the queue goes away are counted, and are pending", async () => {
    await fail("cut_", 4);
    const refuse = () => Promise.reject(new Error("the queue is away"));
    const queues = { ...stores.queues, retryJob: refuse };
    const result = await retryMany({ ...stores, queues }, { filter: { q: "cut_" } });
    expect(result).toMatchObject({ done: 4, stopped: { message: "the queue is away" } });
    const { rows } = await stores.pool.query(
      `SELECT DISTINCT status, enqueued_at FROM millrace.events WHERE starts_with(event_id, 'cut_')`,
    );
    expect(rows).toEqual([{ status: "pending", enqueued_at: null }]);
    for (const id of ["cut_0", "cut_1", "cut_2", "cut_3"]) {
      await stores.queues.retryJob({ source: "acme", eventId: id, generation: 0 });
    }
    await settle("cut_", 4);
  });

  test("of a source that is configured no longer are left alone, and counted", async () => {
    const stranger = event("strange_1", { source: "stranger" });
    await stores.ledger.intake.accept([stranger]);
    await stores.ledger.claims.abandonEvent(stranger, {
      code: "gave_up",
      message: "no luck",
      run: "1",
    });
    expect(await retryAll("strange_")).toEqual({ done: 0, skipped: { unknown_source: 1 } });
    await expect(retryMany(stores, { filter: { source: "stranger" } })).rejects.toMatchObject({
      code: "unknown_source",
    });
  });

  test("are not taken to be all events unless that was said", async () => {
    for (const many of [retryMany, replayMany]) {
      const asked = many(stores, { filter: { type: undefined }, limit: 5 });
      await expect(asked).rejects.toMatchObject({ code: "invalid_request" });
    }
    const all = await retryMany(stores, { filter: {}, all: true, dryRun: true });
    expect(all.skipped).toEqual({ unknown_source: 1 });
  });
});

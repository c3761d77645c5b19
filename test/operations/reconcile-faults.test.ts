import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { Redis } from "ioredis";
import { afterEach, expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { dieWithJob, event, openTestQueues, quickWorker } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce, startReconciler, type TestReconciler } from "./reconcile-once.ts";
import { openForEach } from "../support/open-for.ts";
import { openTestStores, key } from "../support/stores-fixture.ts";

onEachBackend("the reconciler, whatever dies,", (prepare, backend) => {
  const stores = openForEach(async () => openTestStores(await prepare()));
  const opened: { close(): Promise<void> }[] = [];
  afterEach(() => Promise.all(opened.splice(0).map((each) => each.close())));

  const start = (over: Parameters<typeof startReconciler>[1] = {}): TestReconciler => {
    const reconciler = startReconciler(stores, over);
    opened.push(reconciler);
    return reconciler;
  };
  const has = (reconciler: TestReconciler, kind: string) =>
    until(() => reconciler.notices.some((notice) => notice.kind === kind));
  const names = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${name}_${index}`);

  test("is taken over when its leader's lease ends", async () => {
    const first = start();
    await has(first, "passed");
    const second = start();
    await has(second, "follows");
    await stores.pool.query(
      `UPDATE millrace.leaders SET expires_at = clock_timestamp() - interval '1 s'`,
    );
    await stores.ledger.intake.accept([event("evt_orphan_1")]);
    await until(async () => (await stores.job("evt_orphan_1"))?.state === "waiting");
    await first.close();
    await has(second, "passed");
    await stores.ledger.intake.accept([event("evt_orphan_2")]);
    await until(async () => (await stores.job("evt_orphan_2"))?.state === "waiting");
    expect(await stores.completeAll()).toEqual(["evt_orphan_1", "evt_orphan_2"]);
  });

  test("does nothing double when two of them work at once", async () => {
    const lost = names("evt_lost", 300);
    const half = names("evt_half", 5);
    for (const eventId of half) await stores.take(eventId);
    const broken = () => Promise.reject(new Error("the switch is off"));
    const states = () => Promise.all(half.map((id) => stores.job(id)));
    await stores.work(broken, () =>
      until(async () => (await states()).every((job) => job?.state === "failed")),
    );
    await stores.ledger.retries.retryMany(half.map(key));
    await stores.ledger.intake.accept(lost.map((eventId) => event(eventId)));

    const both = [start({ leads: "one" }), start({ leads: "another" })];
    await Promise.all(both.map((each) => has(each, "passed")));
    const notices = both.flatMap((each) => each.notices);
    expect(notices.filter(({ kind }) => kind === "pass_failed")).toEqual([]);
    expect(await stores.completeAll()).toEqual([...lost, ...half].toSorted());
    const attempts =
      "SELECT attempts, count(*)::int AS events FROM millrace.events GROUP BY 1 ORDER BY 1";
    expect(await stores.ask(attempts)).toEqual([
      { attempts: 1, events: 300 },
      { attempts: 2, events: 5 },
    ]);
  }, 90_000);

  test("fails an event whose job lost its workers too often, while nobody could tell the ledger", async () => {
    const url = stores.servers.redisUrl ?? stores.servers.databaseUrl;
    await stores.ledger.intake.accept([event("evt_killer_1")]);
    await reconcileOnce(stores);
    await dieWithJob(url, "acme");
    await dieWithJob(url, "acme");
    const queues = await openTestQueues(stores.servers, "worker", ["acme", "patient"]);
    opened.push(queues);
    queues.work({
      worker: quickWorker({ maxStalledCount: 1 }),
      concurrency: () => 1,
      run: () => Promise.reject(new Error("not to be run")),
      onAbandoned: () => Promise.reject(new Error("the database is away")),
    });
    await until(async () => (await stores.job("evt_killer_1"))?.state === "failed");
    expect((await stores.row("evt_killer_1"))?.status).toBe("pending");

    const { repaired, passed } = await reconcileOnce(stores);
    expect(repaired).toEqual({ pending_job_failed: 1 });
    expect(passed.found.get("pending_job_failed")?.examples).toEqual([
      {
        source: "acme",
        ...{ event_id: "evt_killer_1", generation: 0, job_id: null },
        detail: expect.stringMatching(/stalled/),
      },
    ]);
    expect(await stores.row("evt_killer_1")).toMatchObject({
      ...{ status: "failed", attempts: 0, last_error_code: "gave_up" },
      last_error: expect.stringMatching(/stalled/),
    });
    expect((await reconcileOnce(stores)).found).toEqual({});
  }, 60_000);

  test("ends a pass that its ledger or its queue fails, and takes it up again", async () => {
    await stores.ledger.intake.accept([event("evt_later_1")]);
    await stores.pool.query("ALTER TABLE millrace.queue_epochs RENAME TO away");
    const reconciler = start();
    await has(reconciler, "pass_failed");
    expect(await stores.job("evt_later_1")).toBeUndefined();
    await stores.pool.query("ALTER TABLE millrace.away RENAME TO queue_epochs");
    await until(async () => (await stores.job("evt_later_1"))?.state === "waiting");
  });

  if (backend === "redis") {
    test("adds what Redis lost with the end of its file", async () => {
      await reconcileOnce(stores);
      const ids = names("evt_tail", 200);
      for (const eventId of ids) {
        await stores.ledger.intake.accept([event(eventId)]);
        await stores.queues.enqueue([event(eventId)], { identityOnly: true });
      }
      await stores.ledger.intake.markEnqueued(ids.map(key));
      const file = await aofOf(stores.servers.redisUrl ?? "");
      await stores.servers.redis?.kill();
      await truncate(file.path, Math.floor(file.bytes / 2));
      await stores.servers.redis?.restart();
      await until(() => stores.queues.ping().then(() => true));
      const { repaired, passed } = await reconcileOnce(stores);
      expect(passed.whole).toBe(true);
      expect(repaired["pending_without_job"]).toBeGreaterThan(50);
      expect(repaired["pending_without_job"]).toBeLessThan(200);
      expect(await stores.completeAll()).toEqual(ids.toSorted());
    }, 60_000);

    test("goes on when Redis comes back", async () => {
      const reconciler = start();
      await has(reconciler, "passed");
      await stores.servers.redis?.kill();
      await stores.ledger.intake.accept([event("evt_away_1")]);
      await has(reconciler, "pass_failed");
      await stores.servers.redis?.restart();
      await until(async () => (await stores.job("evt_away_1"))?.state === "waiting");
      expect(await stores.completeAll()).toEqual(["evt_away_1"]);
    });
  }
});

async function aofOf(url: string): Promise<{ path: string; bytes: number }> {
  const redis = new Redis(url);
  try {
    const [, folder] = (await redis.config("GET", "dir")) as string[];
    const info = await until(async () => {
      const text = await redis.info("persistence");
      return /aof_pending_bio_fsync:0/.test(text) ? text : undefined;
    });
    const bytes = Number(/aof_current_size:(\d+)/.exec(info)?.[1]);
    return { path: join(folder ?? "", "appendonlydir", "appendonly.aof.1.incr.aof"), bytes };
  } finally {
    await redis.quit();
  }
}

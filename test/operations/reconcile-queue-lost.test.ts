import { cp, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { aJob } from "../support/events.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce, startReconciler } from "./reconcile-once.ts";
import { key, type TestStores, useStores } from "../support/stores-fixture.ts";

const MANY = 30;
const PAGE_MAX = 20;

onEachBackend("the reconciler, when a queue", (prepare, backend) => {
  const stores = useStores(prepare);
  beforeAll(() => reconcileOnce(stores));

  async function take(name: string, count: number): Promise<string[]> {
    const events = Array.from({ length: count }, (_, index) => event(`${name}_${index}`));
    await stores.ledger.intake.accept(events);
    await stores.queues.enqueue(events, { identityOnly: true });
    await stores.ledger.intake.markEnqueued(events);
    return events.map(({ eventId }) => eventId);
  }

  async function runAll(ids: readonly string[]): Promise<void> {
    expect(await stores.completeAll()).toEqual([...ids].toSorted());
  }

  test("was flushed, adds every pending event's job again, and each runs once", async () => {
    const ids = await take("evt_flush", MANY);
    await loseQueue(stores.servers.redisUrl, stores.pool);
    const { found, repaired, passed } = await reconcileOnce(stores, { pageMax: PAGE_MAX });
    const all = { pending_without_job: MANY };
    expect({ found, repaired }).toEqual({ found: all, repaired: all });
    expect(passed.whole).toBe(true);
    expect(passed.found.get("pending_without_job")?.owed).toBe(0);
    expect((await reconcileOnce(stores)).passed).toMatchObject({ whole: false, looked: 0 });
    await runAll(ids);
  });

  test("is flushed before an ingress could note the jobs that it added, adds these jobs again", async () => {
    const events = Array.from({ length: 3 }, (_, index) => event(`evt_late_note_${index}`));
    await stores.ledger.intake.accept(events);
    await stores.queues.enqueue(events, { identityOnly: true });
    await loseQueue(stores.servers.redisUrl, stores.pool);
    const { found, repaired } = await reconcileOnce(stores, { graceMs: 3_600_000 });
    await stores.ledger.intake.markEnqueued(events);
    const all = { pending_without_job: 3 };
    expect({ found, repaired }).toEqual({ found: all, repaired: all });
    await runAll(events.map(({ eventId }) => eventId));
  });

  test("was flushed with a job in a worker's hand, adds the job again after the attempt is broken off", async () => {
    const lost = event("evt_in_hand");
    const { claims } = stores.ledger;
    await loseQueue(stores.servers.redisUrl, stores.pool);
    await reconcileOnce(stores);
    // A first attempt is recorded when it has failed.
    await claims.record([aJob(lost)]);
    await claims.fail(lost, 1, {
      ...{ code: "lost_claim", message: "the job's lock is lost" },
      ...{ final: false, counts: false, afterMs: 0, run: "1" },
    });
    const { found, repaired } = await reconcileOnce(stores);
    const all = { pending_without_job: 1 };
    expect({ found, repaired }).toEqual({ found: all, repaired: all });
    await runAll([lost.eventId]);
  });

  test("is flushed again while it is being compared, compares it once more", async () => {
    const ids = await take("evt_again", MANY);
    await loseQueue(stores.servers.redisUrl, stores.pool);
    let calls = 0;
    const enqueue: TestStores["queues"]["enqueue"] = async (...args) => {
      calls += 1;
      if (calls === 2) await loseQueue(stores.servers.redisUrl, stores.pool);
      return await stores.queues.enqueue(...args);
    };
    const reconciler = startReconciler(
      { ...stores, queues: { ...stores.queues, enqueue } },
      { pageMax: PAGE_MAX },
    );
    const wholes = () =>
      reconciler.notices.filter((notice) => notice.kind === "passed" && notice.whole).length;
    const quiet = () => {
      const last = reconciler.notices.at(-1);
      return last?.kind === "passed" && last.found.size === 0 && !last.whole;
    };
    await until(() => wholes() > 0 && quiet());
    await reconciler.close();
    const changes = reconciler.notices.filter(({ kind }) => kind === "queue_changed");
    expect(changes).toHaveLength(2);
    await runAll(ids);
  });

  test("was flushed and has no room for all, adds also what an ingress marks afterwards, as it had enqueued it before", async () => {
    const ids = await take("evt_late_mark", MANY);
    await loseQueue(stores.servers.redisUrl, stores.pool);
    let depthMax = 10;
    const reconciler = startReconciler(stores, { queueDepthMax: () => depthMax });
    const full = await until(() =>
      reconciler.notices.find((notice) => notice.kind === "passed" && notice.isFull),
    );
    expect(full).toMatchObject({ repaired: 9 });
    const depth = async () => (await stores.queues.counts()).get("acme")?.waiting;
    expect(await depth()).toBe(9);
    await stores.ledger.intake.markEnqueued(ids.map(key));
    depthMax = 100_000;
    await until(async () => (await depth()) === MANY);
    await reconciler.close();
    await runAll(ids);
  });

  test("is paused, still adds its jobs", async () => {
    await stores.queues.pause("acme");
    await stores.ledger.intake.accept([event("evt_paused_1")]);
    expect((await reconcileOnce(stores)).repaired).toEqual({ pending_without_job: 1 });
    await stores.queues.resume("acme");
    await runAll(["evt_paused_1"]);
  });

  if (backend === "redis") {
    test("was restarted, compares everything, for its file may have lost its end", async () => {
      const ids = await take("evt_restart", MANY);
      await stores.servers.redis?.restart();
      await until(() => stores.queues.ping().then(() => true));
      const { found, passed } = await reconcileOnce(stores);
      expect(found).toEqual({});
      expect(passed.whole).toBe(true);
      expect(passed.looked).toBeGreaterThanOrEqual(MANY);
      await runAll(ids);
    });

    test("was restored to an older copy, completes jobs that had failed then and whose events have completed since", async () => {
      const { redis } = stores.servers;
      if (redis === undefined) throw new Error("Cannot restore Redis: there is none");
      await stores.fail("evt_older_1");
      await stores.fail("evt_older_2");
      const files = join(redis.folder, "appendonlydir");
      const copy = join(redis.folder, "older-copy");
      await cp(files, copy, { recursive: true });
      await stores.ledger.retries.retryMany([key("evt_older_1")]);
      await stores.queues.retryJob(key("evt_older_1"));
      await runAll(["evt_older_1"]);
      await redis.kill();
      await rm(files, { recursive: true });
      await rename(copy, files);
      await redis.restart();
      await until(() => stores.queues.ping().then(() => true));
      expect((await stores.job("evt_older_1"))?.state).toBe("failed");

      expect((await reconcileOnce(stores)).repaired).toEqual({ completed_job_failed: 1 });
      const isCompleted = async () => (await stores.job("evt_older_1"))?.state === "completed";
      expect(await stores.runUntil(isCompleted)).toEqual([]);
      expect((await stores.job("evt_older_2"))?.state).toBe("failed");
      expect((await reconcileOnce(stores)).found).toEqual({});
    });
  }
});

import { expect, test, beforeAll, afterAll } from "vitest";
import { onEachBackend, type Ground } from "../support/backends.ts";
import { loseQueue } from "../support/lose-queue.ts";
import { event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce, startReconciler } from "./reconcile-once.ts";
import { createStage, type Stage } from "./stage.ts";

const MANY = 1_500;

onEachBackend("the reconciler, when a queue", (prepare, backend) => {
  let ground: Ground;
  let stage: Stage;

  beforeAll(async () => {
    ground = await prepare();
    stage = await createStage(ground);
    await reconcileOnce(stage);
  });
  afterAll(async () => {
    await stage?.close();
    await ground?.release();
  });

  async function take(name: string, count: number): Promise<string[]> {
    const events = Array.from({ length: count }, (_, index) => event(`${name}_${index}`));
    for (let at = 0; at < count; at += 500) await stage.ledger.accept(events.slice(at, at + 500));
    for (let at = 0; at < count; at += 250) {
      await stage.queues.enqueue(events.slice(at, at + 250), { identityOnly: true });
    }
    for (let at = 0; at < count; at += 500) {
      await stage.ledger.markEnqueued(events.slice(at, at + 500));
    }
    return events.map(({ eventId }) => eventId);
  }

  /** Runs everything, and expects that each event ran once. */
  async function runAll(ids: readonly string[]): Promise<void> {
    const ran: string[] = [];
    const pending = async () => {
      const { rows } = await stage.pool.query(
        "SELECT count(*)::int AS left FROM millrace.events WHERE status = 'pending'",
      );
      return rows[0].left === 0;
    };
    await stage.work(
      ({ id }) => void ran.push(id),
      () => until(pending, { withinMs: 120_000 }),
    );
    expect(ran.toSorted()).toEqual([...ids].toSorted());
  }

  test("was flushed, adds every pending event's job again, and each runs once", async () => {
    const ids = await take("evt_flush", MANY);
    await loseQueue(ground.redisUrl, stage.pool);
    const { found, mended, passed } = await reconcileOnce(stage);
    expect({ found, mended }).toEqual({
      found: { pending_without_job: MANY },
      mended: { pending_without_job: MANY },
    });
    expect(passed.whole).toBe(true);
    expect((await reconcileOnce(stage)).passed).toMatchObject({ whole: false, looked: 0 });
    await runAll(ids);
  }, 180_000);

  test("is flushed again while it is being compared, compares it once more", async () => {
    const ids = await take("evt_again", MANY);
    await loseQueue(ground.redisUrl, stage.pool);
    let flushed: Promise<void> | undefined;
    const reconciler = startReconciler(stage, {}, (notice) => {
      if (notice.kind === "queue_changed") flushed ??= loseQueue(ground.redisUrl, stage.pool);
    });
    const wholes = () =>
      reconciler.notices.filter((notice) => notice.kind === "passed" && notice.whole).length;
    const quiet = () => {
      const last = reconciler.notices.at(-1);
      return last?.kind === "passed" && last.found.size === 0 && !last.whole;
    };
    await until(() => wholes() > 0 && quiet(), { withinMs: 60_000 });
    await flushed;
    await reconciler.close();
    await runAll(ids);
  }, 180_000);

  test("has no room for all, adds as many as it has, and the rest when there is room", async () => {
    const ids = await take("evt_full", 300);
    await loseQueue(ground.redisUrl, stage.pool);
    const reconciler = startReconciler(stage, { queueDepthMax: () => 100 });
    const depth = async () => (await stage.queues.counts()).get("acme")?.waiting ?? 0;
    const full = await until(() =>
      reconciler.notices.find((notice) => notice.kind === "passed" && notice.isFull),
    );
    expect(full).toMatchObject({ mended: 90 });
    expect(await depth()).toBe(90);
    await runAll(ids);
    await reconciler.close();
  }, 180_000);

  test("is paused, still adds its jobs", async () => {
    await stage.queues.pause("acme");
    await stage.ledger.accept([event("evt_paused_1")]);
    expect((await reconcileOnce(stage)).mended).toEqual({ pending_without_job: 1 });
    await stage.queues.resume("acme");
    await runAll(["evt_paused_1"]);
  });

  if (backend === "redis") {
    test("was restarted, compares everything, for its file may have lost its end", async () => {
      const ids = await take("evt_restart", 200);
      await ground.redis?.restart();
      await until(() => stage.queues.ping().then(() => true));
      const { found, passed } = await reconcileOnce(stage);
      expect(found).toEqual({});
      expect(passed.whole).toBe(true);
      expect(passed.looked).toBeGreaterThanOrEqual(200);
      await runAll(ids);
    }, 60_000);
  }
});

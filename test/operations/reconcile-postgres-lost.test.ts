import type { HandlerFunction } from "@millrace/core";
import { queueName } from "@millrace/queue";
import { retryDelivered } from "@millrace/operations";
import { afterEach, beforeAll, expect, test } from "vitest";
import { onRedis } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import { describeOnRedis } from "../support/redis.ts";
import { copyDatabase, type DatabaseCopy } from "../support/scratch-database.ts";
import { key, type TestStores, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce } from "./reconcile-once.ts";

// A dump is restored into the same server, while Redis goes on: the server's identifier and timeline stay, and its
// position goes up.

describeOnRedis("the reconciler, when Postgres was restored and Redis was not", () => {
  const stores = useStores(onRedis);
  let copy: DatabaseCopy | undefined;
  beforeAll(async () => {
    await stores.pool.query("CREATE TABLE effects (id text)");
    await reconcileOnce(stores);
  });
  afterEach(async () => {
    await copy?.drop();
    copy = undefined;
  });

  async function dump(): Promise<void> {
    await reconcileOnce(stores);
    copy = await copyDatabase(stores.url);
    await reconcileOnce(stores);
  }
  const statusOf = async (id: string) => (await stores.row(id))?.status;
  const leave: HandlerFunction = async ({ id }, { tx }) => {
    await tx.execute(`INSERT INTO effects VALUES ('${id}')`);
  };
  async function complete(ids: readonly string[]): Promise<void> {
    await stores.work(leave, () =>
      until(async () => {
        const statuses = await Promise.all(ids.map(statusOf));
        const jobs = await Promise.all(ids.map((id) => stores.job(id)));
        return [...statuses, ...jobs.map((job) => job?.state)].every((one) => one === "completed");
      }),
    );
  }
  async function ranOnce(ids: readonly string[]): Promise<void> {
    const found = await stores.ask<{ id: string }>("SELECT id FROM effects WHERE id = ANY($1)", [
      ids,
    ]);
    expect(found.map(({ id }) => id).toSorted()).toEqual([...ids].toSorted());
  }
  const take = async (ids: readonly string[]) => {
    for (const id of ids) await stores.take(id);
  };

  test("runs again what has completed since, once each, and nothing else", async () => {
    const before = ["evt_before_1", "evt_before_2"];
    const after = Array.from({ length: 30 }, (_, index) => `evt_after_${index}`);
    await take([...before, "evt_pending_1"]);
    await complete([...before, "evt_pending_1"]);
    await dump();
    await take(after);
    await complete(after);
    const forgotten = () => stores.queues.forgotten("acme", 0);
    const { count } = await forgotten();
    await copy?.restore();

    const { found, repaired, passed } = await reconcileOnce(stores);
    const undone = { unrecorded_job_undone: after.length };
    expect({ found, repaired }).toEqual({ found: undone, repaired: undone });
    expect(passed.whole).toBe(true);
    await complete(after);
    await ranOnce([...before, ...after]);
    await until(async () => (await forgotten()).count === count);
    expect((await reconcileOnce(stores)).passed).toMatchObject({ whole: false, repaired: 0 });
    expect((await reconcileOnce(stores)).found).toEqual({});
  });

  test("reads what has completed once in a pass, though jobs leave the page that is read", async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `evt_page_${index}`);
    await dump();
    await take(ids);
    await complete(ids);
    await copy?.restore();
    // Five end in each millisecond, and a page ends amid them.
    await withRedis(stores.servers.redisUrl ?? "", async (client) => {
      const sinceMs = Date.now() - 1_000;
      const scores = ids.flatMap((id, index) => [sinceMs + Math.floor(index / 5), id]);
      await client.zadd(`bull:${queueName("acme")}:completed`, ...scores);
    });
    let walks = 0;
    const finishedJobs: TestStores["queues"]["finishedJobs"] = (source, state, from) => {
      if (state === "completed" && from?.atMs === 0) walks += 1;
      return stores.queues.finishedJobs(source, state, from, 8);
    };
    const paged = { ...stores, queues: { ...stores.queues, finishedJobs } };
    const sources = { sources: ["acme"] };
    expect((await reconcileOnce(paged, sources)).found).toEqual({
      unrecorded_job_undone: ids.length,
    });
    expect(walks).toBe(1);
    await complete(ids);
    await ranOnce(ids);
  });

  test("runs again what the dump has as pending or as failed, and has completed since", async () => {
    await stores.fail("evt_was_failed_1");
    await stores.queues.queues.get("acme")?.pause();
    await stores.ledger.intake.accept([event("evt_was_pending_1")]);
    await take(["evt_was_pending_1"]);
    await stores.ledger.intake.markEnqueued([key("evt_was_pending_1")]);
    await dump();
    await stores.queues.queues.get("acme")?.resume();
    await stores.ledger.retries.retryMany([key("evt_was_failed_1")]);
    await stores.queues.retryJob(key("evt_was_failed_1"));
    await complete(["evt_was_failed_1", "evt_was_pending_1"]);
    await copy?.restore();

    expect((await reconcileOnce(stores)).repaired).toEqual({
      failed_job_completed: 1,
      pending_job_completed: 1,
    });
    await complete(["evt_was_failed_1", "evt_was_pending_1"]);
    await ranOnce(["evt_was_failed_1", "evt_was_pending_1"]);
  });

  test("fails an event whose body only Postgres had, and runs it when it is delivered again", async () => {
    await dump();
    const lost = event("evt_ledger_first_1");
    await stores.ledger.intake.accept([lost]);
    await stores.queues.enqueue([lost], { identityOnly: true });
    await complete([lost.eventId]);
    await copy?.restore();

    expect((await reconcileOnce(stores)).repaired).toEqual({ unrecorded_job_undone: 1 });
    expect(await stores.row(lost.eventId)).toMatchObject({
      status: "failed",
      last_error_code: "body_lost",
    });
    const other = event(lost.eventId, { body: Buffer.from("another body") });
    const missing = { kind: "skipped", reason: "body_missing" };
    expect(await retryDelivered(stores, other)).toEqual(missing);
    expect(await retryDelivered(stores, lost)).toEqual({ kind: "retried" });
    await complete([lost.eventId]);
    await ranOnce([lost.eventId]);
  });

  test("keeps comparing for a while: a worker may complete a job after the comparison", async () => {
    await dump();
    await take(["evt_late_1"]);
    let finish = () => {};
    const held = new Promise<void>((resolve) => (finish = resolve));
    await stores.work(
      leave,
      async () => {
        await until(async () => (await statusOf("evt_late_1")) === "completed");
        await copy?.restore();
        expect((await reconcileOnce(stores)).repaired).toEqual({});
        finish();
        await until(async () => (await stores.job("evt_late_1"))?.state === "completed");
      },
      () => held,
    );
    expect((await reconcileOnce(stores)).repaired).toEqual({ unrecorded_job_undone: 1 });
    await complete(["evt_late_1"]);
    await ranOnce(["evt_late_1"]);
  });

  test("says how many events have completed whose jobs are gone", async () => {
    const gone = Array.from({ length: 12 }, (_, index) => `evt_gone_${index}`);
    await dump();
    await take(gone);
    await complete(gone);
    const { queues, ledger } = stores;
    const named = gone.slice(8);
    for (const id of gone.slice(0, 8)) await queues.queues.get("acme")?.remove(id);
    await copy?.restore();
    expect((await reconcileOnce(stores)).repaired).toEqual({ unrecorded_job_undone: named.length });
    const { change } = (await ledger.repair.readEpochs()).get(queueName("acme")) ?? {};
    expect(change).toMatchObject({ kind: "taken_back" });
    // What completed in the same minute before the dump, and is gone, is counted too.
    expect(change?.unnamed).toBeGreaterThanOrEqual(8);
    await complete(named);
  });

  test("believes no number of a pass that somebody has written into the queue", async () => {
    await withRedis(stores.servers.redisUrl ?? "", async (client) => {
      const meta = `bull:${queueName("acme")}:meta`;
      const mark = JSON.parse((await client.hget(meta, "millrace:ledger")) ?? "{}");
      await client.hset(meta, "millrace:ledger", JSON.stringify({ ...mark, pass: 9e18 }));
    });
    await reconcileOnce(stores);
    const kept = await stores.ledger.repair.readEpochs();
    expect(kept.get(queueName("acme"))?.pass).toBeLessThan(1_000);
    expect((await reconcileOnce(stores)).passed.whole).toBe(false);
  });
});

import { retryEvent } from "@millrace/operations";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { until } from "../support/until.ts";
import { openTestStores, key, type TestStores } from "../support/stores-fixture.ts";

onOneBackend("a retry", (prepare, backend) => {
  let stores: TestStores;

  beforeAll(async () => {
    stores = await openTestStores(await prepare());
  });
  afterAll(() => stores?.close());

  const retry = (eventId: string) => retryEvent(stores, key(eventId));
  const queueOf = (source: string) => {
    const queue = stores.queues.queues.get(source);
    if (queue === undefined) throw new Error(`no queue of ${source}`);
    return queue;
  };

  /** Runs the event, and expects that it ran once, with its own body. */
  async function completes(eventId: string): Promise<void> {
    const ran: unknown[] = [];
    await stores.work(
      (event) => void ran.push(event.payload),
      () => until(async () => (await stores.row(eventId))?.status === "completed"),
    );
    expect(ran).toEqual([{ id: eventId }]);
  }

  test("makes a failed event pending, its job wait, and the event complete", async () => {
    await stores.fail("evt_plain_1");
    expect(await stores.row("evt_plain_1")).toMatchObject({ status: "failed", attempts: 1 });
    expect(await retry("evt_plain_1")).toEqual({ kind: "retried" });
    expect((await stores.row("evt_plain_1"))?.status).toBe("pending");
    expect((await stores.job("evt_plain_1"))?.state).toBe("waiting");
    await completes("evt_plain_1");
    expect(await stores.row("evt_plain_1")).toMatchObject({ attempts: 2, outcome: "handled" });
  });

  test.each(["evt_gone_1", "shop|évènement 1"])(
    "of %j puts its job on the queue again under the same id when it is gone",
    async (eventId) => {
      await stores.fail(eventId);
      const { jobId } = (await stores.job(eventId)) ?? {};
      await queueOf("acme").remove(jobId ?? "");
      expect(await stores.job(eventId)).toBeUndefined();
      expect(await retry(eventId)).toEqual({ kind: "retried" });
      expect(await stores.job(eventId)).toMatchObject({ jobId, state: "waiting" });
      expect((await stores.job(eventId))?.event?.body).toBeUndefined();
      await completes(eventId);
    },
  );

  test("repairs an earlier one that died between the ledger and the queue", async () => {
    await stores.fail("evt_half_1");
    expect(await stores.ledger.retries.retryMany([key("evt_half_1")])).toMatchObject([
      { kind: "retried" },
    ]);
    expect(await retry("evt_half_1")).toEqual({ kind: "retried" });
    await completes("evt_half_1");

    await stores.fail("evt_half_2");
    await stores.ledger.retries.retryMany([key("evt_half_2")]);
    await queueOf("acme").remove("evt_half_2");
    expect(await retry("evt_half_2")).toEqual({ kind: "retried" });
    await completes("evt_half_2");
  });

  test("of an event that did not fail does nothing, and says so", async () => {
    await stores.take("evt_done_1");
    if (backend === "postgres") {
      expect((await stores.row("evt_done_1"))?.status).toBe("pending");
    }
    expect(await retry("evt_done_1")).toEqual({ kind: "skipped", reason: "not_failed" });
    await completes("evt_done_1");
    expect(await retry("evt_done_1")).toEqual({ kind: "skipped", reason: "not_failed" });
    expect((await stores.job("evt_done_1"))?.state).toBe("completed");
    expect(await stores.row("evt_done_1")).toMatchObject({ status: "completed", attempts: 1 });
  });

  test("of what nobody knows says so", async () => {
    expect(await retry("evt_nobody_1")).toEqual({ kind: "skipped", reason: "not_found" });
    expect(await retryEvent(stores, { ...key("evt_x_1"), source: "stranger" })).toEqual({
      kind: "skipped",
      reason: "unknown_source",
    });
    expect(await retry("a\0b")).toEqual({ kind: "skipped", reason: "not_found" });
  });

  test("of an event whose job failed before the ledger knew it says that only the queue has it", async () => {
    await queueOf("acme").add("forged", { no: "envelope" }, { jobId: "evt_forged_1" });
    await stores.work(
      () => {},
      () => until(async () => (await stores.job("evt_forged_1"))?.state === "failed"),
    );
    expect(await retry("evt_forged_1")).toEqual({ kind: "skipped", reason: "only_in_queue" });
    expect((await stores.job("evt_forged_1"))?.state).toBe("failed");
  });

  test("that comes before the worker could tell the queue of the failure is not lost", async () => {
    await stores.take("evt_race_1");
    let runs = 0;
    const told = promiseWithResolvers();
    await stores.work(
      () => {
        runs += 1;
        if (runs === 1) throw new Error("the switch is off");
      },
      async () => {
        await until(async () => (await stores.row("evt_race_1"))?.status === "failed");
        expect((await stores.job("evt_race_1"))?.state).toBe("active");
        const retried = retry("evt_race_1");
        await until(async () => (await stores.row("evt_race_1"))?.status === "pending");
        told.resolve();
        expect(await retried).toEqual({ kind: "retried" });
        await until(async () => (await stores.row("evt_race_1"))?.status === "completed");
      },
      () => told.promise,
    );
    expect(runs).toBe(2);
  });

  test("by two people at once makes the event run once more", async () => {
    await stores.fail("evt_two_1");
    const results = await Promise.all([retry("evt_two_1"), retry("evt_two_1")]);
    expect(results).toContainEqual({ kind: "retried" });
    await completes("evt_two_1");
    expect((await stores.row("evt_two_1"))?.attempts).toBe(2);
  });

  test("takes the latest generation when it is told none", async () => {
    await stores.fail("evt_latest_1");
    expect(await retryEvent(stores, { source: "acme", eventId: "evt_latest_1" })).toEqual({
      kind: "retried",
    });
    await completes("evt_latest_1");
  });

  if (backend === "redis") {
    test("changes nothing while the queue is away", async () => {
      await stores.fail("evt_away_1");
      await stores.servers.redis?.kill();
      await expect(retry("evt_away_1")).rejects.toMatchObject({ code: "redis_unreachable" });
      expect((await stores.row("evt_away_1"))?.status).toBe("failed");
      await stores.servers.redis?.restart();
      await until(() => stores.queues.ping().then(() => true));
      expect(await retry("evt_away_1")).toEqual({ kind: "retried" });
      await completes("evt_away_1");
    });
  }
});

function promiseWithResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

import type { BulkRun } from "@millrace/api-contract";
import { createOperator, retryDelivered, retryEvent, startBulkRunner } from "@millrace/operations";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { key, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce } from "./reconcile-once.ts";

const actor = { user: "alice", role: "operator", via: "cli", reason: "it cannot succeed" } as const;
const DELAY_MS = 1_500;
const LATE = ["evt_late", "evt_later", "evt_left"];

onOneBackend("giving up", (prepare, backend) => {
  const stores = useStores(prepare);

  const giveUp = async (eventId: string) => {
    const result = await createOperator(stores, actor).giveUpEvent(key(eventId));
    return result.kind === "skipped" ? result.reason : result.kind;
  };

  const lead = () => startBulkRunner({ ...stores, leading: () => true, notify: () => {} });

  async function takeDelayed(eventId: string, delayMs = 600_000, type = "thing.happened") {
    const incoming = event(eventId, { type });
    await stores.ledger.intake.accept([incoming]);
    await stores.queues.enqueue([incoming], { identityOnly: true, delaysMs: [delayMs] });
    expect((await stores.job(eventId))?.state).toBe("delayed");
  }

  test("fails a pending event and removes its job; its redelivery does not run it, a retry does", async () => {
    await takeDelayed("evt_plain");
    expect(await giveUp("evt_plain")).toBe("given_up");
    expect(await stores.row("evt_plain")).toMatchObject({
      ...{ status: "failed", last_error_code: "given_up", attempts: 0, next_attempt_at: null },
    });
    expect(await stores.job("evt_plain")).toBeUndefined();
    const { entries } = await stores.ledger.audit.find({ limit: 1 });
    expect(entries[0]).toMatchObject({
      ...{ action: "give_up", event_id: "evt_plain", actor: "alice", result: { given_up: 1 } },
    });
    expect(await giveUp("evt_plain")).toBe("not_pending");
    expect(await giveUp("evt_nobody")).toBe("not_found");

    expect(await retryDelivered(stores, event("evt_plain"))).toMatchObject({ kind: "skipped" });
    expect((await stores.row("evt_plain"))?.status).toBe("failed");
    expect(await retryEvent(stores, key("evt_plain"))).toEqual({ kind: "retried" });
    expect(await stores.runUntilCompleted("evt_plain")).toEqual(["evt_plain"]);
  });

  test("leaves an event alone whose handler is running", async () => {
    await stores.take("evt_running");
    let answer: string | undefined;
    await stores.work(
      async () => {
        answer = await giveUp("evt_running");
      },
      () => until(async () => (await stores.row("evt_running"))?.status === "completed"),
    );
    expect(answer).toBe("event_running");
  });

  test("of many is a run: their jobs go, and what runs, has ended, or is of another type is left alone", async () => {
    for (const id of ["many_1", "many_2"]) await takeDelayed(id);
    await takeDelayed("many_other", 600_000, "order.paid");
    await stores.ledger.intake.accept([event("many_strange", { source: "stranger" })]);
    await stores.fail("many_failed");
    await stores.take("many_running");
    const operator = createOperator(stores, actor);
    const filter = { q: "many_", type: "thing.happened" };
    expect(await operator.countRun("give_up", { filter })).toMatchObject({ skipped: {} });
    let run: BulkRun | undefined;
    await stores.work(
      async () => {
        const started = await operator.startRun("give_up", { filter });
        const runner = lead();
        run = await until(async () => {
          const now = await stores.ledger.bulkRuns.get(started.id);
          return now.finished_at !== null && now;
        });
        await runner.close();
      },
      () => until(async () => (await stores.row("many_running"))?.status === "completed"),
    );
    expect(run).toMatchObject({
      ...{ verb: "give_up", state: "finished", done: 3, skipped: { event_running: 1 } },
      ...{ results: { completed: 0, failed: 0, pending: 0 } },
    });
    for (const id of ["many_1", "many_2"]) {
      expect((await stores.row(id))?.last_error_code).toBe("given_up");
      expect(await stores.job(id)).toBeUndefined();
    }
    expect((await stores.row("many_other"))?.status).toBe("pending");
    expect((await stores.row("many_failed"))?.last_error_code).not.toBe("given_up");
    expect(await giveUp("many_other")).toBe("given_up");
  });

  test.runIf(backend === "redis")(
    "while Redis is down holds: the job that stayed ends as given up, and no handler runs",
    async () => {
      const { redis } = stores.servers;
      await takeDelayed("evt_late", DELAY_MS);
      for (const id of [...LATE.slice(1), "late_run"]) await takeDelayed(id);
      await redis?.kill();
      for (const id of LATE) expect(await giveUp(id)).toBe("given_up");
      // A run that gives up does not wait for the queue.
      const given = await createOperator(stores, actor).startRun("give_up", {
        filter: { q: "late_run" },
      });
      const giving = lead();
      await until(async () => (await stores.ledger.bulkRuns.get(given.id)).done === 1);
      await giving.close();
      await redis?.restart();
      await until(() => stores.queues.ping().then(() => true));
      expect((await stores.job("evt_late"))?.state).toBe("delayed");
      const ran: string[] = [];
      await stores.work(
        ({ id }) => void ran.push(id),
        async () => {
          await until(async () => (await stores.job("evt_late"))?.state === "failed");
          // Its old job is due in ten minutes.
          expect(await retryEvent(stores, key("evt_later"))).toEqual({ kind: "retried" });
          await until(async () => (await stores.row("evt_later"))?.status === "completed");
        },
      );
      expect((await stores.job("evt_late"))?.failedReason).toContain("given_up");
      expect(await stores.row("evt_late")).toMatchObject({
        ...{ status: "failed", last_error_code: "given_up", attempts: 0 },
      });
      expect(ran).toEqual(["evt_later"]);
      expect((await stores.job("evt_left"))?.state).toBe("delayed");
      await reconcileOnce(stores);
      expect(await stores.job("evt_left")).toBeUndefined();
      expect((await stores.row("evt_left"))?.last_error_code).toBe("given_up");
      expect(await stores.ledger.repair.findGivenUpJobs(["acme"], 10)).toEqual([]);
    },
  );
});

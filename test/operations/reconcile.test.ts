import type { JobResult } from "@millrace/core";
import { beforeAll, expect, test } from "vitest";
import { onEachBackend } from "../support/backends.ts";
import { event } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce } from "./reconcile-once.ts";
import { key, useStores } from "../support/stores-fixture.ts";

const FAILED: JobResult = { kind: "failed", code: "gave_up", message: "lost", recorded: false };

onEachBackend("the reconciler", (prepare) => {
  const stores = useStores(prepare);
  // The queues are known from now on, so that a pass looks at what may be amiss alone.
  beforeAll(() => reconcileOnce(stores));

  const reconcile = async () => {
    const { found, repaired, passed } = await reconcileOnce(stores);
    expect(passed.whole).toBe(false);
    return { found, repaired };
  };
  const stateOf = async (eventId: string) => (await stores.job(eventId))?.state;
  const enqueue = async (eventId: string) => {
    expect(await stores.queues.enqueue([event(eventId)])).toEqual(["accepted"]);
  };
  const accept = (eventId: string) => stores.ledger.intake.accept([event(eventId)]);
  const endBlindly = (eventId: string, state: "failed" | "completed") =>
    stores.workBlindly(
      () => until(async () => (await stateOf(eventId)) === state),
      state === "failed" ? FAILED : undefined,
    );

  async function completes(eventId: string, attempts: number): Promise<void> {
    expect(await stores.runUntilCompleted(eventId)).toEqual([eventId]);
    expect((await stores.row(eventId))?.attempts).toBe(attempts);
  }
  const repairs = async (kind: string) =>
    expect(await reconcile()).toEqual({ found: { [kind]: 1 }, repaired: { [kind]: 1 } });
  async function agree(): Promise<void> {
    expect(await reconcile()).toEqual({ found: {}, repaired: {} });
  }

  test("finds nothing where ledger and queue agree", async () => {
    await stores.take("evt_fine_1");
    await agree();
    await completes("evt_fine_1", 1);
    await agree();
    await stores.fail("evt_fine_2");
    await agree();
  });

  test("adds the job of a pending event that has none, which is no attempt", async () => {
    await stores.ledger.intake.accept([event("evt_none_1"), event("an id | of its own")]);
    const { passed } = await reconcileOnce(stores);
    const added = passed.found.get("pending_without_job");
    expect(added).toMatchObject({ count: 2, owed: 2, repaired: 2 });
    expect(await stores.row("evt_none_1")).toMatchObject({ status: "pending", attempts: 0 });
    const job = await stores.job("evt_none_1");
    expect(job?.state).toBe("waiting");
    expect(job?.event?.body).toBeUndefined();
    await agree();
    await completes("an id | of its own", 1).catch(() => undefined);
    await until(async () => (await stores.row("evt_none_1"))?.status === "completed");
  });

  test("adds the job of an event that is due later with the rest of its delay", async () => {
    await accept("evt_due_later_1");
    await accept("evt_was_due_1");
    const dueIn = (eventId: string, seconds: number) =>
      stores.pool.query(
        `UPDATE millrace.events SET next_attempt_at = now() + make_interval(secs => $2)
         WHERE event_id = $1`,
        [eventId, seconds],
      );
    await dueIn("evt_due_later_1", 3_600);
    await dueIn("evt_was_due_1", -3_600);
    expect((await reconcile()).repaired).toEqual({ pending_without_job: 2 });
    expect(await stateOf("evt_was_due_1")).toBe("waiting");
    expect(await stateOf("evt_due_later_1")).toBe("delayed");
    const queue = stores.queues.queues.get("acme");
    const { delay = 0 } = (await queue?.getJob("evt_due_later_1")) ?? {};
    expect(delay).toBeGreaterThan(3_590_000);
    expect(delay).toBeLessThanOrEqual(3_600_000);
    await agree();
    await queue?.remove("evt_due_later_1");
    await dueIn("evt_due_later_1", 0);
    await stores.pool.query(
      "UPDATE millrace.events SET enqueued_at = NULL WHERE status = 'pending'",
    );
    expect((await reconcile()).repaired).toEqual({ pending_without_job: 1 });
    await stores.runUntilCompleted("evt_due_later_1");
  });

  test("leaves a pending event alone whose job waits, and remembers that it does", async () => {
    await accept("evt_unmarked_1");
    await enqueue("evt_unmarked_1");
    await agree();
    const [standing] = await stores.ledger.repair.ledgerStatuses([key("evt_unmarked_1")]);
    expect(standing).toMatchObject({ status: "pending", enqueued: true });
    await completes("evt_unmarked_1", 1);
  });

  test("leaves a pending event alone whose job is delayed", async () => {
    await accept("evt_delayed_1");
    await enqueue("evt_delayed_1");
    const later: JobResult = {
      ...{ kind: "retry", afterMs: 3_600_000, code: "handler_failed", message: "later" },
      recorded: false,
    };
    await stores.workBlindly(
      () => until(async () => (await stateOf("evt_delayed_1")) === "delayed"),
      later,
    );
    await agree();
    expect(await stateOf("evt_delayed_1")).toBe("delayed");
    await stores.queues.queues.get("acme")?.remove("evt_delayed_1");
    await stores.pool.query(
      "UPDATE millrace.events SET enqueued_at = NULL WHERE status = 'pending'",
    );
    expect((await reconcile()).repaired).toEqual({ pending_without_job: 1 });
    await completes("evt_delayed_1", 1);
  });

  test("leaves a pending event alone whose job is active", async () => {
    await stores.take("evt_active_1");
    let runs = 0;
    await stores.work(
      async () => {
        runs += 1;
        await agree();
      },
      () => until(async () => (await stores.row("evt_active_1"))?.status === "completed"),
    );
    expect(runs).toBe(1);
  });

  test("fails a pending event whose job the queue gave up, with the queue's reason", async () => {
    await accept("evt_gaveup_1");
    await enqueue("evt_gaveup_1");
    await endBlindly("evt_gaveup_1", "failed");
    await repairs("pending_job_failed");
    expect(await stores.row("evt_gaveup_1")).toMatchObject({
      ...{ status: "failed", attempts: 0, last_error_code: "gave_up" },
      last_error: "gave_up: lost",
    });
    await agree();
  });

  test("retries the job of a retry that died half-way", async () => {
    await stores.fail("evt_half_1");
    expect(await stores.ledger.retries.retryMany([key("evt_half_1")])).toMatchObject([
      { kind: "retried" },
    ]);
    await repairs("pending_retry_unfinished");
    expect(await stores.row("evt_half_1")).toMatchObject({ status: "pending", attempts: 1 });
    await agree();
    await completes("evt_half_1", 2);
  });

  test("runs the job of a pending event again that has completed without it", async () => {
    await accept("evt_blind_1");
    await enqueue("evt_blind_1");
    await endBlindly("evt_blind_1", "completed");
    await repairs("pending_job_completed");
    expect((await stores.row("evt_blind_1"))?.attempts).toBe(0);
    await agree();
    await completes("evt_blind_1", 1);
  });

  test("records an event as failed that only a failed job has, and it can be retried", async () => {
    await enqueue("evt_unknown_1");
    await endBlindly("evt_unknown_1", "failed");
    await repairs("unrecorded_job_failed");
    expect(await stores.row("evt_unknown_1")).toMatchObject({ status: "failed", attempts: 0 });
    await agree();
    expect(await stores.ledger.retries.retryMany([key("evt_unknown_1")])).toMatchObject([
      { kind: "retried" },
    ]);
    expect((await reconcile()).repaired).toEqual({ pending_retry_unfinished: 1 });
    await completes("evt_unknown_1", 1);
  });

  test("records nothing on the word of a failed job that a person edited or made up", async () => {
    await enqueue("evt_forged_1");
    const queue = stores.queues.queues.get("acme");
    const job = await queue?.getJob("evt_forged_1");
    await job?.updateData({ ...job.data, body: "forged" });
    await queue?.add("made up", { no: "envelope" }, { jobId: "evt_forged_2" });
    await endBlindly("evt_forged_1", "failed");
    await until(async () => (await queue?.getJobState("evt_forged_2")) === "failed");
    expect(await reconcile()).toEqual({ found: { unreadable_job: 1 }, repaired: {} });
    expect(await stores.row("evt_forged_1")).toBeUndefined();
    await queue?.remove("evt_forged_2");
    await agree();
  });

  test("says nothing of a job that is older than what the ledger remembers", async () => {
    const old = event("evt_old_1", { acceptedAtMs: Date.now() - 91 * 86_400_000 });
    await stores.queues.enqueue([old]);
    await endBlindly("evt_old_1", "failed");
    await agree();
    expect(await stores.row("evt_old_1")).toBeUndefined();
  });

  test("completes the failed job of a completed event, which is left alone", async () => {
    await stores.take("evt_done_1");
    await completes("evt_done_1", 1);
    await stores.queues.rerunJob(key("evt_done_1"));
    await endBlindly("evt_done_1", "failed");
    await repairs("completed_job_failed");
    const isCompleted = async () => (await stateOf("evt_done_1")) === "completed";
    expect(await stores.runUntil(isCompleted)).toEqual([]);
    expect(await stores.row("evt_done_1")).toMatchObject({ status: "completed", attempts: 1 });
    await agree();
  });

  test("leaves a failed event alone whose job is on its way", async () => {
    await stores.fail("evt_again_1");
    await stores.queues.retryJob(key("evt_again_1"));
    await agree();
    expect(await stores.row("evt_again_1")).toMatchObject({ status: "failed", attempts: 1 });
    await completes("evt_again_1", 2);
  });

  test("looks at nothing that has just become pending", async () => {
    await accept("evt_young_1");
    expect((await reconcileOnce(stores, { graceMs: 3_600_000 })).found).toEqual({});
    expect((await reconcile()).repaired).toEqual({ pending_without_job: 1 });
    await completes("evt_young_1", 1);
  });

  test("in a sweep finds a job that a person removed, and one that ran without the ledger", async () => {
    await accept("evt_removed_1");
    await enqueue("evt_removed_1");
    await agree();
    await stores.queues.queues.get("acme")?.remove("evt_removed_1");
    await agree();
    await enqueue("evt_stray_1");
    await endBlindly("evt_stray_1", "completed");
    const { found, repaired } = await reconcileOnce(stores, { sweepIntervalMs: 0 });
    expect({ found, repaired }).toEqual({
      found: { pending_without_job: 1, unrecorded_job_completed: 1 },
      repaired: { pending_without_job: 1 },
    });
    expect(await stores.row("evt_stray_1")).toBeUndefined();
    await completes("evt_removed_1", 1);
  });
});

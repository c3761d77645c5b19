import { createOperator, replayEvent, retryDelivered, retryEvent } from "@millrace/operations";
import { RetryLater } from "millrace";
import { expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { event as delivery } from "../support/queue-fixture.ts";
import { key, useStores } from "../support/stores-fixture.ts";
import { until } from "../support/until.ts";
import { reconcileOnce } from "./reconcile-once.ts";

onOneBackend("an event of a person", (prepare, backend) => {
  const stores = useStores(prepare);

  const retry = (eventId: string) => retryEvent(stores, key(eventId));
  const replay = (eventId: string, generation?: number) =>
    replayEvent(stores, { source: "acme", eventId, generation });
  const skipped = (reason: string) => ({ kind: "skipped", reason });
  const queue = () => stores.queues.queues.get("acme");
  const generationsOf = async (eventId: string) =>
    (await stores.ledger.reads.findEvent({ source: "acme", eventId }))?.generations ?? [];
  const enqueuedAt = async (eventId: string) => {
    const [row] = await stores.ask<{ at: Date | null }>(
      "SELECT enqueued_at AS at FROM millrace.events WHERE event_id = $1 ORDER BY generation DESC",
      [eventId],
    );
    return row?.at;
  };

  async function settles(eventId: string): Promise<unknown[]> {
    const ran: unknown[] = [];
    await stores.work(
      (event) => void (event.id === eventId && ran.push([event.generation, event.payload])),
      () =>
        until(async () => {
          const generations = await generationsOf(eventId);
          return generations.length > 0 && generations.every(({ status }) => status !== "pending");
        }),
    );
    return ran;
  }
  const completes = async (eventId: string, generation = 0) =>
    expect(await settles(eventId)).toEqual([[generation, { id: eventId }]]);

  async function complete(eventId: string): Promise<void> {
    await stores.take(eventId);
    await settles(eventId);
  }

  test("that is edited and sent runs as an event of its own, marked as not from the sender", async () => {
    const traceparent = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;
    await stores.take("evt_edit_1", { headers: { "x-topic": "things", traceparent } });
    await settles("evt_edit_1");
    const actor = { user: "alice", role: "operator", via: "session", reason: "a typo" } as const;
    const { sendEdited } = createOperator(stores, actor);
    const edit = { ...key("evt_edit_1"), body: '{"data":{"customer":"cus_1"}}' };
    const sent = await Promise.all([sendEdited(edit), sendEdited({ ...edit, type: "b.c" })]);
    const ids = ["evt_edit_1.edited-1", "evt_edit_1.edited-2"];
    expect(sent.map((event) => String(event?.eventId)).toSorted()).toEqual(ids);
    expect(await sendEdited({ ...edit, eventId: "evt_none_1" })).toBeUndefined();
    await expect(sendEdited({ ...edit, eventId: "x".repeat(1_010) })).rejects.toMatchObject({
      code: "invalid_request",
    });

    const ran: [string, ...unknown[]][] = [];
    await stores.work(
      ({ id, edited, payload, headers }) => void ran.push([id, edited, payload, headers]),
      () => until(() => ran.length === 2),
    );
    const payload = { data: { customer: "cus_1" } };
    // Without the delivery's trace.
    const headers = { "x-topic": "things", "millrace-edited-from": "evt_edit_1" };
    const expected = ids.map((id) => [id, true, payload, headers]);
    expect(ran.toSorted(([a], [b]) => a.localeCompare(b))).toEqual(expected);
    const page = await stores.ledger.reads.findEvents({ q: "evt_edit_1", order: "asc" });
    expect(page.events.map(({ edited }) => edited)).toEqual([false, true, true]);
    expect(page.events.map(({ type }) => type)).toContain("b.c");
    const origin = await stores.ledger.reads.findEvent(key("evt_edit_1"));
    expect(origin?.event.attempts).toBe(1);
    expect(origin?.emitted.events.map((event) => event.event_id)).toEqual(ids);
    expect(origin?.acts).toContainEqual(
      expect.objectContaining({ action: "edit", actor: "alice" }),
    );
  });

  test("that has failed is retried, by two people at once: it is pending, its job waits, and it completes", async () => {
    await stores.fail("evt_plain_1");
    expect(await stores.row("evt_plain_1")).toMatchObject({ status: "failed", attempts: 1 });
    const latest = { source: "acme", eventId: "evt_plain_1" };
    const both = await Promise.all([1, 2].map(() => retryEvent(stores, latest)));
    expect(both).toContainEqual({ kind: "retried" });
    expect((await stores.row("evt_plain_1"))?.status).toBe("pending");
    expect((await stores.job("evt_plain_1"))?.state).toBe("waiting");
    await completes("evt_plain_1");
    expect(await stores.row("evt_plain_1")).toMatchObject({ attempts: 2, outcome: "handled" });
  });

  test.each(["evt_gone_1", "gone|évènement 1"])(
    "whose job is gone gets it again under the same ID by a retry: %j",
    async (eventId) => {
      await stores.fail(eventId);
      const { jobId } = (await stores.job(eventId)) ?? {};
      await queue()?.remove(jobId ?? "");
      expect(await retry(eventId)).toEqual({ kind: "retried" });
      expect(await stores.job(eventId)).toMatchObject({ jobId, state: "waiting" });
      expect((await stores.job(eventId))?.event?.body).toBeUndefined();
      await completes(eventId);
    },
  );

  test.each([false, true])(
    "whose earlier retry died between the ledger and the queue is retried: its job is gone: %j",
    async (isGone) => {
      const eventId = `evt_died_${isGone}`;
      await stores.fail(eventId);
      await stores.ledger.retries.retryMany([key(eventId)]);
      if (isGone) await queue()?.remove(eventId);
      expect(await retry(eventId)).toEqual({ kind: "retried" });
      await completes(eventId);
    },
  );

  test("that did not fail, that nobody knows, or that only the queue has is not retried or replayed, and it says so", async () => {
    await stores.take("evt_done_1");
    expect(await retry("evt_done_1")).toEqual(skipped("not_failed"));
    await completes("evt_done_1");
    expect(await retry("evt_done_1")).toEqual(skipped("not_failed"));
    expect((await stores.job("evt_done_1"))?.state).toBe("completed");
    for (const eventId of ["evt_nobody_1", "a\0b"]) {
      expect(await retry(eventId)).toEqual(skipped("not_found"));
    }
    const stranger = { ...key("evt_x_1"), source: "stranger" };
    expect(await retryEvent(stores, stranger)).toEqual(skipped("unknown_source"));
    expect(await replayEvent(stores, stranger)).toEqual(skipped("unknown_source"));
    expect(await replay("evt_nobody_1")).toEqual(skipped("not_found"));
    await queue()?.add("forged", { no: "envelope" }, { jobId: "evt_forged_1" });
    await stores.runUntil(async () => (await stores.job("evt_forged_1"))?.state === "failed");
    expect(await retry("evt_forged_1")).toEqual(skipped("only_in_queue"));
    expect((await stores.job("evt_forged_1"))?.state).toBe("failed");
  });

  test("that is retried before the worker could tell the queue of the failure is not lost", async () => {
    await stores.take("evt_race_1");
    let runs = 0;
    let tell = () => {};
    const told = new Promise<void>((resolve) => (tell = resolve));
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
        tell();
        expect(await retried).toEqual({ kind: "retried" });
        await until(async () => (await stores.row("evt_race_1"))?.status === "completed");
      },
      () => told,
    );
    expect(runs).toBe(2);
  });

  test("that waits for its next attempt runs now by a retry, also by one that died, and not by a delivery", async () => {
    const ids = ["evt_wait_1", "evt_wait_2"] as const;
    const states = () => Promise.all(ids.map(async (id) => (await stores.job(id))?.state));
    for (const id of ids) await stores.take(id);
    await stores.work(
      () => Promise.reject(new RetryLater({ afterMs: 600_000 })),
      () => until(async () => (await states()).every((state) => state === "delayed")),
    );
    expect(await retryDelivered(stores, delivery(ids[0]))).toEqual(skipped("not_failed"));
    expect(await retry(ids[0])).toEqual({ kind: "retried" });
    expect(await retry(ids[0])).toEqual(skipped("not_failed"));
    expect(await stores.row(ids[0])).toMatchObject({ attempts: 1, next_attempt_at: null });
    await stores.ledger.retries.retryMany([key(ids[1])], { endsDelay: true });
    expect(await states()).toEqual(["waiting", "delayed"]);
    await reconcileOnce(stores);
    expect(await stores.completeAll()).toEqual(ids);
    expect((await stores.row(ids[0]))?.attempts).toBe(2);
  });

  test.each(["evt_again_1", "again|évènement 1"])(
    "that has completed runs once more by a replay, as generation 1: %j",
    async (eventId) => {
      await complete(eventId);
      const before = await stores.row(eventId);
      expect(await replay(eventId)).toEqual({ kind: "replayed", generation: 1 });
      expect(await enqueuedAt(eventId)).toBeInstanceOf(Date);
      const job = await stores.queues.findJob({ ...key(eventId), generation: 1 });
      expect(job).toMatchObject({ jobId: expect.stringMatching(/^g1-/), state: "waiting" });
      expect(job?.event?.body).toBeUndefined();
      await completes(eventId, 1);
      expect(await stores.row(eventId)).toEqual(before);
      expect(await generationsOf(eventId)).toMatchObject([
        { generation: 0, status: "completed", attempts: 1 },
        { generation: 1, status: "completed", attempts: 1 },
      ]);
      expect(await replay(eventId, 0)).toEqual(skipped("superseded"));
    },
  );

  test("is replayed although the queue still has an ended job of that generation", async () => {
    await complete("evt_restored_1");
    await replay("evt_restored_1");
    await settles("evt_restored_1");
    // The database was restored from a moment before.
    await stores.ask(
      "DELETE FROM millrace.events WHERE event_id = 'evt_restored_1' AND generation = 1",
    );
    expect(await replay("evt_restored_1")).toEqual({ kind: "replayed", generation: 1 });
    await completes("evt_restored_1", 1);
  });

  test.runIf(backend === "redis")("does not change while the queue is away", async () => {
    await complete("evt_away_1");
    await stores.fail("evt_away_2");
    await stores.servers.redis?.kill();
    const unreachable = { code: "redis_unreachable" };
    await expect(replay("evt_away_1")).rejects.toMatchObject(unreachable);
    await expect(retry("evt_away_2")).rejects.toMatchObject(unreachable);
    expect(await generationsOf("evt_away_1")).toHaveLength(1);
    expect((await stores.row("evt_away_2"))?.status).toBe("failed");
    await stores.servers.redis?.restart();
    await until(() => stores.queues.ping().then(() => true));
    expect(await replay("evt_away_1")).toMatchObject({ kind: "replayed" });
    expect(await retry("evt_away_2")).toEqual({ kind: "retried" });
    await completes("evt_away_2");
  });

  test("whose replay the queue did not take stays pending without a job, and it says so", async () => {
    await complete("evt_refused_1");
    const queues = { ...stores.queues, enqueue: () => Promise.resolve([new Error("no room")]) };
    const refused = replayEvent(
      { ...stores, queues },
      { source: "acme", eventId: "evt_refused_1" },
    );
    await expect(refused).rejects.toThrow("no room");
    expect(await generationsOf("evt_refused_1")).toMatchObject([{}, { status: "pending" }]);
    expect(await enqueuedAt("evt_refused_1")).toBeNull();
  });
});

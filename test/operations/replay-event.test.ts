import { replayEvent } from "@millrace/operations";
import { afterAll, beforeAll, expect, test } from "vitest";
import { onOneBackend } from "../support/backends.ts";
import { until } from "../support/until.ts";
import { openTestStores, key, type TestStores } from "../support/stores-fixture.ts";

onOneBackend("a replay", (prepare, backend) => {
  let stores: TestStores;

  beforeAll(async () => {
    stores = await openTestStores(await prepare());
  });
  afterAll(() => stores?.close());

  const replay = (eventId: string, generation?: number) =>
    replayEvent(stores, { source: "acme", eventId, generation });
  const generationsOf = async (eventId: string) =>
    (await stores.ledger.reads.findEvent({ source: "acme", eventId }))?.generations ?? [];
  const enqueuedAt = async (eventId: string) => {
    const { rows } = await stores.pool.query<{ enqueued_at: Date | null }>(
      "SELECT enqueued_at FROM millrace.events WHERE event_id = $1 ORDER BY generation DESC",
      [eventId],
    );
    return rows[0]?.enqueued_at;
  };

  /** Runs workers until no generation of the event is pending; gives what they ran. */
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

  async function complete(eventId: string): Promise<void> {
    await stores.take(eventId);
    await settles(eventId);
  }

  test.each(["evt_done_1", "shop|évènement 1"])(
    "of the completed event %j runs its handler once more, as generation 1",
    async (eventId) => {
      await complete(eventId);
      const before = await stores.row(eventId);
      expect(await replay(eventId)).toEqual({ kind: "replayed", generation: 1 });
      expect(await enqueuedAt(eventId)).toBeInstanceOf(Date);
      const job = await stores.queues.findJob({ ...key(eventId), generation: 1 });
      expect(job).toMatchObject({ jobId: expect.stringMatching(/^g1-/), state: "waiting" });
      expect(job?.event?.body).toBeUndefined();
      expect(await settles(eventId)).toEqual([[1, { id: eventId }]]);
      expect(await stores.row(eventId)).toEqual(before);
      expect(await generationsOf(eventId)).toMatchObject([
        { generation: 0, status: "completed", attempts: 1 },
        { generation: 1, status: "completed", attempts: 1 },
      ]);
    },
  );

  test("of a failed event leaves the failure to be seen", async () => {
    await stores.fail("evt_failed_1");
    expect(await replay("evt_failed_1")).toEqual({ kind: "replayed", generation: 1 });
    expect(await settles("evt_failed_1")).toHaveLength(1);
    expect(await generationsOf("evt_failed_1")).toMatchObject([
      { status: "failed", last_error: expect.stringContaining("the switch is off") },
      { status: "completed", last_error: null },
    ]);
  });

  test("of a replay is generation 2", async () => {
    await complete("evt_twice_1");
    await replay("evt_twice_1");
    await settles("evt_twice_1");
    expect(await replay("evt_twice_1")).toEqual({ kind: "replayed", generation: 2 });
    expect(await settles("evt_twice_1")).toEqual([[2, { id: "evt_twice_1" }]]);
  });

  test("by two people at once makes one generation, and tells the other", async () => {
    await complete("evt_two_1");
    const results = await Promise.all([replay("evt_two_1"), replay("evt_two_1")]);
    expect(results).toContainEqual({ kind: "replayed", generation: 1 });
    expect(results).toContainEqual({ kind: "skipped", reason: "not_settled" });
    expect(await settles("evt_two_1")).toHaveLength(1);
  });

  test("says why it did not", async () => {
    await stores.take("evt_waits_1");
    expect(await replay("evt_waits_1")).toEqual({ kind: "skipped", reason: "not_settled" });
    await settles("evt_waits_1");
    await replay("evt_waits_1");
    expect(await replay("evt_waits_1", 0)).toEqual({ kind: "skipped", reason: "superseded" });
    expect(await replay("evt_waits_1", 5)).toEqual({ kind: "skipped", reason: "not_found" });
    expect(await replay("evt_nobody_1")).toEqual({ kind: "skipped", reason: "not_found" });
    expect(await replay("a\0b")).toEqual({ kind: "skipped", reason: "not_found" });
    expect(await replayEvent(stores, { source: "stranger", eventId: "evt_x_1" })).toEqual({
      kind: "skipped",
      reason: "unknown_source",
    });
    await settles("evt_waits_1");
  });

  test("runs although the queue still has an ended job of that generation", async () => {
    await complete("evt_restored_1");
    await replay("evt_restored_1");
    await settles("evt_restored_1");
    // The database was restored from a moment before.
    await stores.pool.query(
      "DELETE FROM millrace.events WHERE event_id = 'evt_restored_1' AND generation = 1",
    );
    expect(await replay("evt_restored_1")).toEqual({ kind: "replayed", generation: 1 });
    expect(await settles("evt_restored_1")).toHaveLength(1);
  });

  if (backend === "redis") {
    test("changes nothing while the queue is away", async () => {
      await complete("evt_away_1");
      await stores.servers.redis?.kill();
      await expect(replay("evt_away_1")).rejects.toMatchObject({ code: "redis_unreachable" });
      expect(await generationsOf("evt_away_1")).toHaveLength(1);
      await stores.servers.redis?.restart();
      await until(() => stores.queues.ping().then(() => true));
      expect(await replay("evt_away_1")).toMatchObject({ kind: "replayed" });
    });

    test("whose job the queue did not take stays pending without one, and says so", async () => {
      await complete("evt_half_1");
      const refuse = () => Promise.resolve([new Error("no room")]);
      const queues = { ...stores.queues, enqueue: refuse };
      await expect(
        replayEvent({ ...stores, queues }, { source: "acme", eventId: "evt_half_1" }),
      ).rejects.toThrow("no room");
      expect(await generationsOf("evt_half_1")).toMatchObject([{}, { status: "pending" }]);
      expect(await enqueuedAt("evt_half_1")).toBeNull();
    });
  }
});

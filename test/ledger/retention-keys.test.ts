import { describe, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { claim, statusOf } from "../support/ledger-fixture.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = openForEach(openTestRetention);

describe("A deletion of keys", () => {
  const expired = { keysDays: 90, bodiesFrom: "infinity" };

  test("takes completed events past their time with all that is known of them", async () => {
    const key = await it.event("failed");
    await it.ledger.retries.retryMany([key]);
    const attempt = await claim(it.ledger, { ...anEvent(), ...key }, "run-2");
    await it.ledger.claims.recordStep(key, attempt, { name: "refund", result: null });
    await it.settle(key, attempt, "completed");
    await it.ledger.intake.noteConflicts([{ ...key, bodyHash: "another" }]);
    const repeated = { ...key, outcome: "duplicate", atMs: Date.now() } as const;
    await it.ledger.intake.noteDeliveries("host-1", [repeated]);
    await it.age(key, 91);
    expect(await it.retention.countExpiredKeys(expired)).toBe(1);
    expect(await it.retention.deleteKeys(expired)).toMatchObject({ deleted: 1 });
    for (const table of ["events", "attempts", "steps", "conflicts", "deliveries"]) {
      expect(await it.ask(`SELECT FROM millrace.${table}`)).toEqual([]);
    }
  });

  test.each([
    [90, "completed", false],
    [91, "completed", true],
    [400, "completed", true],
    [400, "failed", false],
    [400, "pending", false],
  ] as const)("of an event of %i days that is %s: %s", async (days, status, goes) => {
    const key = await it.event(status, days);
    // The clock went on by a moment since the event was made.
    await it.retention.deleteKeys(expired);
    expect(await statusOf(it, key)).toBe(goes ? undefined : status);
  });

  test.each(["pending", "completed", "failed"] as const)(
    "leaves all generations of an event while the latest is %s and not old",
    async (status) => {
      const key = await it.event("completed", 400);
      await it.ledger.retries.replay([key]);
      const again = { ...key, generation: 1 };
      if (status !== "pending") {
        await it.settle(again, await claim(it.ledger, { ...anEvent(), ...again }), status);
      }
      expect(await it.retention.countExpiredKeys(expired)).toBe(0);
      expect(await it.retention.deleteKeys(expired)).toEqual({ deleted: 0, next: undefined });
      expect(await statusOf(it, key)).toBe("completed");
    },
  );

  test("takes all generations together when every one is old", async () => {
    const key = await it.event("completed");
    await it.ledger.retries.replay([key]);
    const again = { ...key, generation: 1 };
    await it.settle(again, await claim(it.ledger, { ...anEvent(), ...again }), "completed");
    await it.age(key, 400);
    expect(await it.retention.deleteKeys(expired)).toMatchObject({ deleted: 2 });
    expect(await it.ask("SELECT FROM millrace.events")).toEqual([]);
  });

  test("leaves an event whose body is still there", async () => {
    const key = await it.event("completed", 400);
    const { day } = await it.partition(400);
    expect(await it.retention.deleteKeys({ ...expired, bodiesFrom: day })).toMatchObject({
      deleted: 0,
    });
    expect(await statusOf(it, key)).toBe("completed");
  });

  test("goes on behind the batch before it, past what it leaves", async () => {
    const kept = await it.event("failed", 402);
    await it.ask(
      `INSERT INTO millrace.events (recorded_at, received_at, body_id, unsigned, source, event_id,
         type, generation, body_hash, body_day)
       SELECT now() - interval '401 days', now(), n, false, 'shop', 'old-' || n, 't', 0, '',
         (now() AT TIME ZONE 'UTC')::date - 401
       FROM generate_series(1, 2500) n`,
    );
    await it.ask(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE millrace.events SET status = 'completed', outcome = 'handled',
         processed_at = recorded_at WHERE event_id LIKE 'old-%'; COMMIT`,
    );
    let from: string | undefined;
    const batches: number[] = [];
    do {
      const batch = await it.retention.deleteKeys(expired, from);
      batches.push(batch.deleted);
      from = batch.next;
    } while (from !== undefined);
    expect(batches).toEqual([1_000, 1_000, 500, 0]);
    expect(await it.ask("SELECT event_id FROM millrace.events")).toEqual([
      { event_id: kept.eventId },
    ]);
  });
});

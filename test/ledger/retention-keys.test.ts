import { describe, expect, test } from "vitest";
import { aJob, anEvent, keyOf, withoutBody } from "../support/events.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = openForEach(openTestRetention);

const expired = { keysDays: 90, bodiesFrom: "infinity" };

describe("A deletion of keys", () => {
  test("takes completed events past their time with all that is known of them", async () => {
    const key = await it.event("failed");
    await it.ledger.retries.retryMany([key]);
    const attempt = await it.claim({ ...anEvent(), ...key }, "run-2");
    await it.ledger.claims.recordStep(key, attempt, { name: "refund", result: null });
    await it.settle(key, attempt, "completed");
    await it.ledger.intake.noteConflicts([{ ...anEvent(), ...key, bodyHash: "another" }]);
    const repeated = { ...key, outcome: "duplicate", atMs: Date.now() } as const;
    await it.ledger.intake.noteDeliveries("host-1", [repeated]);
    await it.age(key, 91);
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
    await it.retention.deleteKeys(expired);
    expect(await it.statusOf(key)).toBe(goes ? undefined : status);
  });

  test("counts from the completion, and not from the receipt", async () => {
    const key = await it.event("pending", 400);
    await it.settle(key, await it.claim({ ...anEvent(), ...key }), "completed");
    await it.retention.deleteKeys(expired);
    expect(await it.statusOf(key)).toBe("completed");
  });

  test.each(["pending", "completed", "failed"] as const)(
    "leaves all generations of an event while the latest is %s and not old",
    async (status) => {
      const key = await it.event("completed", 400);
      await it.ledger.retries.replay([key]);
      const again = { ...key, generation: 1 };
      if (status !== "pending") {
        await it.settle(again, await it.claim({ ...anEvent(), ...again }), status);
      }
      expect(await it.retention.deleteKeys(expired)).toEqual({ deleted: 0, next: undefined });
      expect(await it.statusOf(key)).toBe("completed");
    },
  );

  test("takes all generations together when every one is old", async () => {
    const key = await it.event("completed");
    await it.ledger.retries.replay([key]);
    const again = { ...key, generation: 1 };
    await it.settle(again, await it.claim({ ...anEvent(), ...again }), "completed");
    await it.age(key, 400);
    expect(await it.retention.deleteKeys(expired)).toMatchObject({ deleted: 2 });
    expect(await it.ask("SELECT FROM millrace.events")).toEqual([]);
  });

  test("leaves an event whose body is still there", async () => {
    const key = await it.event("completed", 400);
    const bodiesFrom = (await it.partition(400)).day;
    expect(await it.retention.deleteKeys({ ...expired, bodiesFrom })).toMatchObject({ deleted: 0 });
    expect(await it.statusOf(key)).toBe("completed");
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
    const left = [{ event_id: kept.eventId }];
    expect(await it.ask("SELECT event_id FROM millrace.events")).toEqual(left);
  });
});

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const daysAgo = (days: number) => Date.now() - days * DAY_MS;
const kindOf = async (...args: Parameters<typeof aJob>) =>
  (await it.ledger.claims.record([aJob(...args)]))[0]?.kind;

describe("A job of an event that the ledger does not know", () => {
  test.each([
    ["younger than the keys by a minute", 90 * DAY_MS - MINUTE_MS, "claimed"],
    ["older than the keys by a minute", 90 * DAY_MS + MINUTE_MS, "identity_expired"],
    ["from the year 1970", Number.MAX_SAFE_INTEGER, "identity_expired"],
    ["stamped by a clock that is ahead", -300 * DAY_MS, "claimed"],
  ] as const)("%s is %s", async (_title, ageMs, kind) => {
    const event = anEvent({ acceptedAtMs: Math.max(0, Date.now() - ageMs) });
    expect(await kindOf(event)).toBe(kind);
    expect(await it.statusOf(event)).toBe(kind === "claimed" ? "pending" : undefined);
  });

  test("is expired with its body and without, in a batch with others that are not", async () => {
    const old = anEvent({ acceptedAtMs: daysAgo(91) });
    const jobs = [aJob(old), aJob(anEvent()), aJob(withoutBody(anEvent()))];
    const claims = await it.ledger.claims.record(jobs);
    expect(claims.map(({ kind }) => kind)).toEqual(["identity_expired", "claimed", "body_missing"]);
    expect(await kindOf(withoutBody(old))).toBe("identity_expired");
  });

  test.each([
    [89, "failed", "failed"],
    [91, "unknown", undefined],
  ])("and that the queue gave up after %i days is %s", async (days, answer, status) => {
    const event = anEvent({ acceptedAtMs: daysAgo(days) });
    const reason = { code: "gave_up", message: "it stalled", run: "run-1" } as const;
    expect(await it.ledger.claims.abandonEvent(event, reason)).toBe(answer);
    expect(await it.statusOf(event)).toBe(status);
  });
});

describe("A job of an event that the ledger knows is never expired", () => {
  test.each(["pending", "failed"] as const)("when it is %s", async (status) => {
    const key = await it.event(status, 400);
    const job = { ...anEvent({ acceptedAtMs: daysAgo(400) }), ...key };
    expect(await kindOf(job, "run-2")).toBe("claimed");
  });

  test("when it is completed, for as long as it is known", async () => {
    const event = anEvent({ acceptedAtMs: daysAgo(0) });
    await it.settle(keyOf(event), await it.claim(event), "completed");
    // Past the keys' time, and not yet past the margin for the clocks of ingresses.
    await it.age(keyOf(event), 90);
    const old = { ...event, acceptedAtMs: daysAgo(90) - MINUTE_MS };
    await it.retention.deleteKeys(expired);
    expect(await kindOf(old)).toBe("completed");
    await it.age(keyOf(event), 1);
    await it.retention.deleteKeys(expired);
    expect(await it.statusOf(event)).toBeUndefined();
    expect(await kindOf(old)).toBe("identity_expired");
  });
});

import type { IncomingEvent } from "@millrace/core";
import type { LedgerClient } from "@millrace/intake";
import { beforeAll, describe, expect, test } from "vitest";
import { aJob, anEvent, keyOf, withoutBody } from "../support/events.ts";
import { failure, useLedger } from "../support/ledger-fixture.ts";
import { attemptWith } from "./attempt-fixture.ts";

const it = useLedger();
beforeAll(async () => {
  // The port is satisfied by type; nothing of it runs.
  ((): LedgerClient => it.ledger.intake)();
});

const FRESH = { waits: 0, pendingForMs: 0 };

const storedOf = ({ type, unsigned, acceptedAtMs }: IncomingEvent) => {
  return { type, unsigned, acceptedAtMs };
};

describe("record", () => {
  test("inserts a new event with its first attempt, and counts one for each time it comes", async () => {
    const event = anEvent();
    expect(await it.ledger.claims.record([aJob(event)])).toEqual([
      { kind: "claimed", attempt: 1, attemptSinceRetry: 1, ...FRESH, isNew: true },
    ]);
    expect(await it.ledger.claims.record([aJob(withoutBody(event))])).toEqual([
      {
        ...{ kind: "claimed", attempt: 2, attemptSinceRetry: 2, waits: 0 },
        ...{ pendingForMs: expect.any(Number), stored: storedOf(event) },
      },
    ]);
    const started = anEvent();
    await it.ledger.claims.record([{ ...aJob(started), startedBefore: true }]);
    // An attempt that left nothing has a row with its reason.
    for (const each of [event, started]) {
      const log = (await it.ledger.reads.findEvent(keyOf(each)))?.attempt_log;
      expect(log).toMatchObject([{ attempt: 1, code: "interrupted", counted: each === event }]);
    }
  });

  test("keeps a failed event failed in the run that failed it, and says why", async () => {
    const event = anEvent();
    const attempt = await it.claim(event, "run-7");
    await it.ledger.claims.fail(keyOf(event), attempt, { ...failure, final: true, run: "run-7" });
    expect(await it.ledger.claims.record([aJob(event, "run-7")])).toEqual([
      { kind: "failed", code: "handler_failed", message: "No such customer" },
    ]);
    expect(await it.statusOf(event)).toBe("failed");
  });

  test("makes a failed event pending again in another run, its attempts counted anew", async () => {
    const event = anEvent();
    for (const final of [false, true]) {
      const attempt = await it.claim(event);
      await it.ledger.claims.fail(event, attempt, { ...failure, final });
    }
    expect(await it.ledger.claims.record([aJob(event, "run-2")])).toEqual([
      { kind: "claimed", attempt: 3, attemptSinceRetry: 1, ...FRESH, stored: storedOf(event) },
    ]);
    expect(await it.statusOf(event)).toBe("pending");
  });

  test("keeps a failed event failed in another run too, once it has a later generation", async () => {
    const event = anEvent();
    await it.failForGood(event);
    await it.ledger.retries.replay([event]);
    expect(await it.ledger.claims.record([aJob(event, "run-2")])).toEqual([
      { kind: "failed", code: "handler_failed", message: "No such customer" },
    ]);
    expect(await it.statusOf(event)).toBe("failed");
    await it.ledger.retries.retryMany([keyOf(event)]);
    expect(await it.ledger.claims.record([aJob(event, "run-3")])).toMatchObject([
      { kind: "claimed", attemptSinceRetry: 1 },
    ]);
  });

  test("writes down another body of a known event, whatever became of that, and says so", async () => {
    const event = anEvent();
    await it.claim(event);
    const forged = anEvent({ eventId: event.eventId, body: Buffer.from('{"amount":1}') });
    const [pending] = await it.ledger.claims.record([aJob(forged)]);
    expect(pending).toMatchObject({ attempt: 2, stored: storedOf(event), conflict: true });
    await it.complete(event, 2);
    for (const job of [aJob(withoutBody(forged)), aJob(forged)]) {
      const known = [{ kind: "completed", conflict: true }];
      expect(await it.ledger.claims.record([job])).toEqual(known);
    }
    expect(await it.ledger.claims.record([aJob(event)])).toEqual([{ kind: "completed" }]);
    expect((await it.ledger.reads.findEvent(event))?.conflicts).toMatchObject([
      { body_hash: forged.bodyHash, deliveries: 2 },
    ]);
  });

  test("claims an event by its row where a job has another type or `unsigned`, and says so", async () => {
    const event = anEvent();
    await it.ledger.intake.accept([event]);
    for (const over of [{ type: "another" }, { unsigned: true }]) {
      const job = aJob(withoutBody({ ...event, ...over, acceptedAtMs: 1 }));
      expect(await it.ledger.claims.record([job])).toMatchObject([
        { kind: "claimed", stored: storedOf(event), conflict: true },
      ]);
    }
    // A job that is not believed has no hash, and its time is never compared.
    const nothing = { ...withoutBody(event), bodyHash: "", type: "forged" };
    const sameButTime = withoutBody({ ...event, acceptedAtMs: 1 });
    for (const job of [aJob(nothing), aJob(sameButTime)]) {
      const [claimed] = await it.ledger.claims.record([job]);
      expect(claimed).toMatchObject({ kind: "claimed", stored: storedOf(event) });
      expect(claimed).not.toHaveProperty("conflict");
    }
  });

  test("notes when a job was first known for the time that the event is pending now", async () => {
    const [fresh, accepted] = [anEvent(), anEvent()];
    const enqueuedAt = async (event: typeof fresh) => {
      const [row] = await it.ask<{ at: Date | null }>(
        "SELECT enqueued_at AS at FROM millrace.events WHERE event_id = $1",
        [event.eventId],
      );
      return row?.at?.getTime();
    };
    await it.ledger.intake.accept([accepted]);
    expect(await enqueuedAt(accepted)).toBeUndefined();
    await it.ledger.claims.record([aJob(fresh), aJob(withoutBody(accepted))]);
    for (const event of [fresh, accepted]) {
      const at = await enqueuedAt(event);
      expect(at).toBeDefined();
      const attempt = await it.claim(event);
      await it.ledger.claims.fail(keyOf(event), attempt, { ...failure, final: true, run: "run-1" });
      await it.claim(event, "run-2");
      expect(await enqueuedAt(event)).toBe(at);
    }
  });

  test("claims many jobs at once, in the order they were given, and repeats only once", async () => {
    const [fresh, known, done] = [anEvent(), anEvent(), anEvent()];
    await it.ledger.intake.accept([known]);
    await it.complete(done);
    const missing = withoutBody(anEvent());
    const jobs = [done, missing, fresh, known, fresh].map((event) => aJob(event));
    jobs.push(...jobs.slice(2, 3));
    const kinds = (await it.ledger.claims.record(jobs)).map((claimed) => claimed.kind);
    expect(kinds).toEqual(["completed", "body_missing", "claimed", "claimed", "busy", "busy"]);
  });

  test("fails alone a job whose event Postgres cannot hold", async () => {
    const jobs = [
      anEvent(),
      { ...anEvent(), headers: { "x-nul": "\0" } },
      anEvent({ eventId: "lone \ud800" }),
      anEvent({ generation: 2 ** 40 }),
      anEvent(),
    ].map((event) => aJob(event));
    const claims = await it.ledger.claims.record(jobs);
    const kinds = ["claimed", "failed", "failed", "failed", "claimed"];
    expect(claims.map((one) => one.kind)).toEqual(kinds);
    expect(claims[1]).toMatchObject({ code: "invalid_envelope" });
  });

  test("a row that a handler holds delays its own job and not the batch", async () => {
    const [held, free] = [anEvent(), anEvent()];
    const attempt = await it.claim(held);
    const claims = await new Promise<readonly { kind: string }[]>((resolve, reject) => {
      // The row is held until this is answered.
      const work = async () => resolve(await it.ledger.claims.record([aJob(held), aJob(free)]));
      attemptWith(it.ledger, [held, attempt], work).catch(reject);
    });
    expect(claims.map((one) => one.kind)).toEqual(["busy", "claimed"]);
  });

  test("of workers that record the same new events at once, each attempt goes to one", async () => {
    const events = Array.from({ length: 20 }, () => anEvent());
    const calls = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        it.ledger.claims.record(
          [...events.slice(n), ...events.slice(0, n)].map((event) => aJob(event)),
        ),
      ),
    );
    const claims = calls.flat().filter((one) => one.kind === "claimed").length;
    const [row] = await it.ask<{ attempts: string }>(
      "SELECT sum(attempts) AS attempts FROM millrace.events WHERE event_id = ANY($1)",
      [events.map((event) => event.eventId)],
    );
    expect(Number(row?.attempts)).toBe(claims);
    expect(claims).toBeGreaterThanOrEqual(20);
  });

  test("waits for a row that comes in meanwhile, and counts on it", async () => {
    const event = anEvent();
    const commit = await it.holdOpen(
      `INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned, received_at, body_id)
       VALUES ($1, $2, 0, $4, $3, false, now(), 0)`,
      [event.source, event.eventId, event.bodyHash, event.type],
    );
    const recorded = it.ledger.claims.record([aJob(event)]);
    await it.untilBlocked();
    await commit();
    expect(await recorded).toMatchObject([{ kind: "claimed", attempt: 1, attemptSinceRetry: 1 }]);
  });
});

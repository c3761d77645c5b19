import { describe, expect, test } from "vitest";
import { aJob, anEvent, keyOf, withoutBody } from "../support/events.ts";
import { failure, useLedger } from "../support/ledger-fixture.ts";
import { attemptWith } from "./attempt-fixture.ts";

const it = useLedger();

const STATES = ["pending", "completed", "failed"] as const;
type State = (typeof STATES)[number];

async function eventIn(state: State) {
  const event = anEvent();
  if (state === "failed") await it.failForGood(event);
  else if (state === "completed") await it.complete(event);
  else await it.claim(event);
  expect(await it.statusOf(event)).toBe(state);
  return event;
}

const SET: Record<State, string> = {
  pending: "status = 'pending', outcome = NULL, processed_at = NULL, failed_run = NULL",
  completed: "status = 'completed', outcome = 'handled', processed_at = now()",
  failed: "status = 'failed', outcome = NULL, processed_at = now(), last_error_code = 'gave_up'",
};

async function change(what: string, eventId: string): Promise<string> {
  try {
    await it.ask(`${what} WHERE event_id = $1`, [eventId]);
    return "allowed";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

describe("The database itself", () => {
  const legal = new Set([
    "pending pending",
    "pending completed",
    "pending failed",
    "failed pending",
    "failed failed",
  ]);
  const steps = STATES.flatMap((from) => STATES.map((to) => [from, to] as const));
  test.each(steps)("allows an update from %s to %s, or refuses it", async (from, to) => {
    const { eventId } = await eventIn(from);
    const answer = await change(`UPDATE millrace.events SET ${SET[to]}`, eventId);
    expect(answer).toBe(legal.has(`${from} ${to}`) ? "allowed" : "MR001");
  });

  test.each([
    ["completed", ["type = 'x'", "attempts = attempts + 1", "last_error = 'x'", "generation = 9"]],
    ["pending", ["attempts = attempts - 1", "source = 'b'", "event_id = 'b'", "generation = 1"]],
  ] as const)("refuses these updates of a %s event: %j", async (state, sets) => {
    const { eventId } = await eventIn(state);
    for (const set of sets) {
      expect(await change(`UPDATE millrace.events SET ${set}`, eventId)).toBe("MR001");
    }
  });

  test("refuses an event that comes as anything but pending", async () => {
    const insert = (columns: string, values: string) =>
      it.ask(
        `INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned,
           received_at, body_id, ${columns})
         VALUES ('s', 'made-up', 0, 't', 'h', false, now(), 0, ${values})`,
      );
    for (const [columns, values, code] of [
      ["status, outcome, processed_at", "'completed', 'handled', now()", "MR001"],
      ["status, last_error_code, processed_at", "'failed', 'gave_up', now()", "MR001"],
      ["status", "'settled'", "23514"],
    ] as const) {
      await expect(insert(columns, values)).rejects.toMatchObject({ code });
    }
  });

  test("lets completed events be deleted, and no others", async () => {
    for (const state of STATES) {
      const answer = await change("DELETE FROM millrace.events", (await eventIn(state)).eventId);
      expect(answer).toBe(state === "completed" ? "allowed" : "MR001");
    }
    await expect(it.ask("TRUNCATE millrace.events")).rejects.toMatchObject({ code: "MR001" });
  });
});

describe("A failed attempt", () => {
  test("is recorded with its error, and the event stays pending until the last", async () => {
    const event = anEvent();
    await it.ledger.claims.fail(keyOf(event), await it.claim(event), failure);
    expect(await it.statusOf(event)).toBe("pending");
    const last = { ...failure, message: `last ${"x".repeat(20_000)}`, final: true };
    await it.ledger.claims.fail(keyOf(event), await it.claim(event), last);
    const found = await it.ledger.reads.findEvent(event);
    expect(found?.event).toMatchObject({
      status: "failed",
      attempts: 2,
      last_error_code: "handler_failed",
    });
    expect(found?.event.processed_at).not.toBeNull();
    expect(found?.attempt_log).toMatchObject([
      { attempt: 1, code: "handler_failed", message: "No such customer", counted: true },
      { attempt: 2, counted: true },
    ]);
    expect(Buffer.byteLength(found?.attempt_log[1]?.message ?? "")).toBeLessThanOrEqual(8_192);
  });
});

describe("abandonEvent", () => {
  const reason = { code: "gave_up", message: "stalled too often", run: "run-3" } as const;

  test("fails a pending event and says so in its log", async () => {
    const event = await eventIn("pending");
    expect(await it.ledger.claims.abandonEvent(keyOf(event), reason)).toBe("failed");
    const found = await it.ledger.reads.findEvent(event);
    expect(found?.event).toMatchObject({ status: "failed", last_error: "stalled too often" });
    expect(found?.attempt_log).toMatchObject([{ attempt: 1, code: "gave_up" }]);
    expect(await it.ledger.claims.record([aJob(event, "run-3")])).toMatchObject([
      { kind: "failed" },
    ]);
  });

  test("records an event that it does not know, when its body is at hand", async () => {
    const event = anEvent();
    expect(await it.ledger.claims.abandonEvent(withoutBody(event), reason)).toBe("unknown");
    expect(await it.ledger.claims.abandonEvent(event, reason)).toBe("failed");
    const found = await it.ledger.reads.findEvent(event);
    expect(found?.event).toMatchObject({ status: "failed", attempts: 0 });
    expect(JSON.parse(found?.payload?.text ?? "")).toMatchObject({ amount: 4200 });
  });

  test("records an event without its body only as failed: pending, nobody could run it", async () => {
    const lost = { ...reason, code: "body_lost" } as const;
    const cut = withoutBody(anEvent());
    // Its row is written first, and this refuses what follows.
    await it.ask(
      `ALTER TABLE millrace.attempts ADD CONSTRAINT cut CHECK (event_id <> '${cut.eventId}')`,
    );
    await expect(it.ledger.claims.abandonEvent(cut, lost)).rejects.toThrow("cut");
    expect(await it.ledger.reads.findEvent(cut)).toBeUndefined();
    await it.ask("ALTER TABLE millrace.attempts DROP CONSTRAINT cut");
    expect(await it.ledger.claims.abandonEvent(cut, lost)).toBe("failed");
    const found = await it.ledger.reads.findEvent(cut);
    expect(found?.event).toMatchObject({ status: "failed", last_error_code: "body_lost" });
  });

  test("leaves what has settled", async () => {
    const abandon = async (state: State) =>
      it.ledger.claims.abandonEvent(await eventIn(state), reason);
    expect(await abandon("completed")).toBe("completed");
    expect(await abandon("failed")).toBe("already_failed");
  });

  test("waits for an attempt that is just completing", async () => {
    const event = anEvent();
    let givingUp: Promise<string> | undefined;
    await attemptWith(it.ledger, [event, await it.claim(event)], async () => {
      givingUp = it.ledger.claims.abandonEvent(event, reason);
      await new Promise((resolve) => setImmediate(resolve));
    });
    expect(await givingUp).toBe("completed");
  });
});

import type { EventKey } from "@millrace/core";
import { describe, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { useLedger } from "../support/ledger-fixture.ts";
import { attemptWith } from "./attempt-fixture.ts";

const it = useLedger({ max: 10 });

async function settled(status: "completed" | "failed"): Promise<EventKey> {
  const event = anEvent();
  await (status === "failed" ? it.failForGood : it.complete)(event);
  return keyOf(event);
}

const rowsOf = ({ eventId }: EventKey) =>
  it.ask<Record<string, unknown>>(
    "SELECT * FROM millrace.events WHERE event_id = $1 ORDER BY generation",
    [eventId],
  );
const loseBody = ({ eventId }: EventKey) =>
  it.ask(
    `DELETE FROM millrace.bodies USING millrace.events e
     WHERE id = e.body_id AND day = e.body_day AND e.event_id = $1`,
    [eventId],
  );
const latestOf = ({ source, eventId }: EventKey) => ({ source, eventId });
const kinds = (answers: readonly { kind: string }[]) => answers.map(({ kind }) => kind);

describe("A replay", () => {
  test.each(["completed", "failed"] as const)(
    "of a %s event adds a pending generation on the same body, and leaves the old row as it is",
    async (status) => {
      const key = await settled(status);
      const [before] = await rowsOf(key);
      const [answer] = await it.ledger.retries.replay([latestOf(key)]);
      expect(answer).toMatchObject({ kind: "replayed", event: { ...key, generation: 1 } });
      const [old, fresh] = await rowsOf(key);
      expect(old).toEqual(before);
      expect(fresh).toMatchObject({
        generation: 1,
        status: "pending",
        attempts: 0,
        enqueued_at: null,
        ...pick(before, "type", "body_hash", "body_day", "body_id", "unsigned", "received_at"),
      });
    },
  );

  test("says why it left an event alone", async () => {
    const [pending, done, gone] = [anEvent(), await settled("completed"), await settled("failed")];
    await it.ledger.intake.accept([pending]);
    await loseBody(gone);
    await it.ledger.retries.replay([done]);
    const answers = await it.ledger.retries.replay([
      keyOf(pending),
      done,
      latestOf(done),
      { ...done, generation: 7 },
      gone,
      { source: "shop", eventId: "evt_never" },
      { source: "shop", eventId: "a\0b" },
    ]);
    expect(kinds(answers)).toEqual([
      ...["not_settled", "superseded", "not_settled", "not_found", "body_missing"],
      ...["not_found", "not_found"],
    ]);
    expect(await rowsOf(done)).toHaveLength(2);
  });

  test("that loses against another at the same time adds nothing, and says so", async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => settled("completed")));
    const rounds = await Promise.all([1, 2, 3, 4].map(() => it.ledger.retries.replay(keys)));
    for (const [index, key] of keys.entries()) {
      const answers = rounds.map((answers_) => answers_[index]?.kind).toSorted();
      expect(answers).toEqual(["replayed", "superseded", "superseded", "superseded"]);
      expect(await rowsOf(key)).toHaveLength(2);
    }
  });

  test("that finds the row of one not yet committed waits for it, and adds nothing", async () => {
    const key = await settled("completed");
    const commit = await it.holdOpen(
      `INSERT INTO millrace.events (source, event_id, generation, type, body_hash, unsigned,
         received_at, body_day, body_id)
       SELECT source, event_id, 1, type, body_hash, unsigned, received_at, body_day, body_id
       FROM millrace.events WHERE event_id = $1`,
      [key.eventId],
    );
    const waiting = it.ledger.retries.replay([latestOf(key)]);
    await it.untilBlocked();
    await commit();
    expect(kinds(await waiting)).toEqual(["not_settled"]);
    expect(await rowsOf(key)).toHaveLength(2);
  });
});

describe("A retry of many", () => {
  test("makes the failed ones pending, without a known job, and says what the others are", async () => {
    const [failed, done] = [await settled("failed"), await settled("completed")];
    const pending = anEvent();
    await it.ledger.intake.accept([pending]);
    await it.ask("UPDATE millrace.events SET enqueued_at = now() WHERE event_id = $1", [
      failed.eventId,
    ]);
    const answers = await it.ledger.retries.retryMany([
      failed,
      done,
      keyOf(pending),
      { ...failed, generation: 3 },
    ]);
    expect(kinds(answers)).toEqual(["retried", "completed", "pending", "not_found"]);
    expect(await rowsOf(failed)).toMatchObject([
      { status: "pending", attempts: 1, attempts_at_retry: 1, enqueued_at: null },
    ]);
  });

  test("at the same time as another retries each event once, and deadlocks with none", async () => {
    const keys = await Promise.all(Array.from({ length: 30 }, () => settled("failed")));
    const rounds = await Promise.all(
      [keys, keys.toReversed(), keys].map((each) => it.ledger.retries.retryMany(each)),
    );
    const retried = rounds.flatMap(kinds).filter((kind) => kind === "retried");
    expect(retried).toHaveLength(30);
  });

  test("does not wait for a handler that runs", async () => {
    const event = anEvent();
    const number = await it.claim(event);
    let answers: readonly { kind: string }[] = [];
    await attemptWith(it.ledger, [event, number], async () => {
      answers = await it.ledger.retries.retryMany([keyOf(event)]);
    });
    expect(kinds(answers)).toEqual(["pending"]);
  });

  test("leaves what has lost its body alone, and a dry one leaves everything", async () => {
    const [gone, failed] = [await settled("failed"), await settled("failed")];
    await loseBody(gone);
    const dry = await it.ledger.retries.retryMany([gone, failed], { dryRun: true });
    expect(kinds(dry)).toEqual(["body_missing", "retried"]);
    expect(await rowsOf(failed)).toMatchObject([{ status: "failed" }]);
    expect(kinds(await it.ledger.retries.retryMany([gone]))).toEqual(["body_missing"]);
    expect(await rowsOf(gone)).toMatchObject([{ status: "failed" }]);
  });
});

test("a known job is noted for a pending event once, and for no other", async () => {
  const [pending, done] = [anEvent(), await settled("completed")];
  await it.ledger.intake.accept([pending]);
  await it.ledger.intake.markEnqueued([keyOf(pending), done, { ...done, generation: 9 }]);
  const [marked] = await rowsOf(pending);
  expect(marked?.["enqueued_at"]).toBeInstanceOf(Date);
  await it.ledger.intake.markEnqueued([keyOf(pending)]);
  expect(await rowsOf(pending)).toEqual([marked]);
});

test("a replay that was lost is recorded as failed on the body of its event, once", async () => {
  const event = anEvent();
  await it.ledger.intake.accept([event]);
  const replay = { ...keyOf(event), generation: 3 };
  const reason = { code: "replay_lost", message: "lost", run: "1.0" } as const;
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("failed");
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("already_failed");
  const found = await it.ledger.reads.findEvent(replay);
  expect(found?.event).toMatchObject({ status: "failed", last_error_code: "replay_lost" });
  expect(Buffer.from(found?.body ?? []).equals(event.body)).toBe(true);
  // Of an event that the ledger does not know, no replay was lost.
  const unknown = { ...keyOf(anEvent()), generation: 1 };
  expect(await it.ledger.claims.abandonEvent(unknown, reason)).toBe("unknown");
  expect(await it.ledger.reads.findEvent(unknown)).toBeUndefined();
});

function pick(row: Record<string, unknown> | undefined, ...names: string[]) {
  return Object.fromEntries(names.map((name) => [name, row?.[name]]));
}

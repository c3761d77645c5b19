import { afterAll, beforeAll, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { openTestLedger, type TestLedger } from "../support/ledger-fixture.ts";

let it: TestLedger;
beforeAll(async () => {
  it = await openTestLedger();
});
afterAll(() => it.close());

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
});

test("of an event that the ledger does not know, no replay was lost", async () => {
  const replay = { ...keyOf(anEvent()), generation: 1 };
  const reason = { code: "replay_lost", message: "lost", run: "1.0" } as const;
  expect(await it.ledger.claims.abandonEvent(replay, reason)).toBe("unknown");
  expect(await it.ledger.reads.findEvent(replay)).toBeUndefined();
});

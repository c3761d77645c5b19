import { describe, expect, test } from "vitest";
import { aJob, anEvent, keyOf, withoutBody } from "../support/events.ts";
import { claim, statusOf } from "../support/ledger-fixture.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForAll } from "../support/open-for.ts";

const it = openForAll(openTestRetention);

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const daysAgo = (days: number) => Date.now() - days * DAY_MS;
const kindOf = async (...args: Parameters<typeof aJob>) =>
  (await it.ledger.claims.record([aJob(...args)]))[0]?.kind;

describe("A job of an event that the ledger does not know", () => {
  test.each([
    ["younger than the keys by a minute", daysAgo(90) + MINUTE_MS, "claimed"],
    ["older than the keys by a minute", daysAgo(90) - MINUTE_MS, "identity_expired"],
    ["from the year 1970", 0, "identity_expired"],
    ["stamped by a clock that is ahead", daysAgo(-300), "claimed"],
  ])("%s is %s", async (_title, acceptedAtMs, kind) => {
    const event = anEvent({ acceptedAtMs });
    expect(await kindOf(event)).toBe(kind);
    expect(await statusOf(it, event)).toBe(kind === "claimed" ? "pending" : undefined);
  });

  test("is expired with its body and without, in a batch with others that are not", async () => {
    const [old, young] = [anEvent({ acceptedAtMs: daysAgo(91) }), anEvent()];
    const claims = await it.ledger.claims.record([
      aJob(old),
      aJob(young),
      aJob(withoutBody(anEvent())),
    ]);
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
    expect(await statusOf(it, event)).toBe(status);
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
    await it.settle(keyOf(event), await claim(it.ledger, event), "completed");
    // Past the keys' time, and not yet past the margin for the clocks of ingresses.
    await it.age(keyOf(event), 90);
    const old = { ...event, acceptedAtMs: daysAgo(90) - MINUTE_MS };
    await it.retention.deleteKeys({ keysDays: 90, bodiesFrom: "infinity" });
    expect(await kindOf(old)).toBe("completed");
    await it.age(keyOf(event), 1);
    await it.retention.deleteKeys({ keysDays: 90, bodiesFrom: "infinity" });
    expect(await statusOf(it, event)).toBeUndefined();
    expect(await kindOf(old)).toBe("identity_expired");
  });
});

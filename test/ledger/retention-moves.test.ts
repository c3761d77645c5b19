import type { EventKey } from "@millrace/core";
import { describe, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { claim, patient, statusOf } from "../support/ledger-fixture.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = openForEach(openTestRetention);

const today = async () =>
  (await it.ask<{ day: string }>("SELECT (now() AT TIME ZONE 'UTC')::date::text AS day"))[0]?.day;
const dayOf = async ({ eventId }: EventKey) =>
  (
    await it.ask<{ day: string }>(
      "SELECT body_day::text AS day FROM millrace.events WHERE event_id = $1 ORDER BY generation",
      [eventId],
    )
  ).map(({ day }) => day);

/** Holds up whoever moves bodies, when it has locked their events, until the returned is called. */
async function holdUpMoves(): Promise<() => Promise<void>> {
  const holder = await it.connect();
  const name = (await it.partition(0)).name;
  await holder.query(`BEGIN; LOCK TABLE millrace.${name} IN SHARE MODE`);
  return async () => {
    await holder.query("COMMIT");
    holder.release();
  };
}

describe("A move of bodies", () => {
  test("takes those of pending and failed events to today's partition, and no others", async () => {
    const [pending, failed, done] = [
      await it.event("pending", 40),
      await it.event("failed", 40),
      await it.event("completed", 40),
    ];
    const old = await it.partition(40);
    expect(await it.retention.countEventsOf(old)).toBe(3);
    expect(await it.retention.countUnsettled(old)).toBe(2);
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 2, moved: 2 });
    expect(await it.retention.moveBodies(old)).toEqual({ found: 0, moved: 0, bytes: 0 });
    for (const key of [pending, failed]) expect(await dayOf(key)).toEqual([await today()]);
    expect(await dayOf(done)).toEqual([old.day]);
    for (const key of [pending, failed, done]) expect(await it.bodyOf(key)).toBeDefined();
    expect(await it.retention.countEventsOf(old)).toBe(1);
  });

  test("takes a body that two generations share along with both, once", async () => {
    const key = await it.event("failed");
    await it.ledger.retries.replay([key]);
    await it.age(key, 40);
    expect(await it.retention.moveBodies(await it.partition(40))).toMatchObject({
      found: 2,
      moved: 2,
    });
    expect(await dayOf(key)).toEqual([await today(), await today()]);
    expect(await it.ask("SELECT FROM millrace.bodies WHERE day >= now()::date")).toHaveLength(1);
    expect(await it.bodyOf({ ...key, generation: 1 })).toEqual(await it.bodyOf(key));
  });

  test("takes no more at once than a few megabytes, and at least one body", async () => {
    for (let n = 0; n < 3; n += 1) {
      const large = anEvent({ body: Buffer.alloc(9 * 1024 * 1024, n) });
      await it.ledger.intake.accept([large]);
      await it.age(keyOf(large), 40);
    }
    const old = await it.partition(40);
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 3, moved: 1 });
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 2, moved: 1 });
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 1, moved: 1 });
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 0 });
  });

  test("leaves an event that an attempt holds, and waits for nobody", async () => {
    const key = await it.event("pending", 40);
    const number = await claim(it.ledger, { ...anEvent(), ...key });
    const old = await it.partition(40);
    await it.ledger.claims.attempt(
      key,
      number,
      async () => {
        expect(await it.retention.moveBodies(old)).toEqual({ found: 1, moved: 0, bytes: 0 });
        return "handled";
      },
      patient(),
    );
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 0 });
  });

  test("does not wait for a body that is lost", async () => {
    const key = await it.event("failed", 40);
    await it.ask("DELETE FROM millrace.bodies");
    expect(await it.retention.moveBodies(await it.partition(40))).toMatchObject({ found: 0 });
    expect(await statusOf(it, key)).toBe("failed");
  });

  test("lets a reader, a handler and a retry find the body while it is under way", async () => {
    const [pending, failed] = [await it.event("pending", 40), await it.event("failed", 40)];
    const number = await claim(it.ledger, { ...anEvent(), ...pending });
    const letGo = await holdUpMoves();
    const moving = it.retention.moveBodies(await it.partition(40));
    await it.untilBlocked();
    expect(await it.bodyOf(pending)).toBeDefined();
    let seen: Uint8Array | undefined;
    const handling = it.ledger.claims.attempt(
      pending,
      number,
      (_tx, { body }) => {
        seen = body;
        return Promise.resolve("handled");
      },
      patient(),
    );
    const retrying = it.ledger.retries.retryMany([failed]);
    await it.untilBlocked(3);
    await letGo();
    expect(await moving).toMatchObject({ moved: 2 });
    expect(await handling).toBe("completed");
    expect(Buffer.from(seen ?? [])).toEqual(await it.bodyOf(pending));
    expect(await retrying).toMatchObject([{ kind: "retried" }]);
    expect(await statusOf(it, failed)).toBe("pending");
  });

  test("makes today's partition where it is missing", async () => {
    const key = await it.event("failed", 40);
    for (const { name, ageDays } of await it.retention.partitions()) {
      if (ageDays <= 0) await it.ask(`DROP TABLE millrace.${name}`);
    }
    expect(await it.retention.moveBodies(await it.partition(40))).toMatchObject({ moved: 1 });
    expect(await it.bodyOf(key)).toBeDefined();
  });
});

describe("A replay of an event of another day", () => {
  test("takes a copy of the body to today, so that the old day can be dropped", async () => {
    const key = await it.event("completed", 40);
    const body = await it.bodyOf(key);
    expect(await it.ledger.retries.replay([key])).toMatchObject([{ kind: "replayed" }]);
    const old = await it.partition(40);
    expect(await dayOf(key)).toEqual([old.day, await today()]);
    expect(await it.retention.detach(old)).toBe("detached");
    expect(await it.bodyOf({ ...key, generation: 0 })).toBeUndefined();
    expect(await it.bodyOf({ ...key, generation: 1 })).toEqual(body);
  });
});

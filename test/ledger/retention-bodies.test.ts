import { readFileSync } from "node:fs";
import type { EventKey } from "@millrace/core";
import { createRetentionLedger } from "@millrace/ledger";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { anEvent, keyOf } from "../support/events.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForEach } from "../support/open-for.ts";
import { attemptWith } from "./attempt-fixture.ts";

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

const readBodies = () => it.holdOpen("SELECT FROM millrace.bodies");

test("the archive of a day has each of its events, with its body byte for byte", async () => {
  const key = await it.event("completed", 40);
  await it.event("completed", 20);
  const { day } = await it.partition(40);
  const file = new URL("../../infra/postgres/archive-day.sql", import.meta.url);
  // The other lines are for psql.
  const text = readFileSync(file, "utf8")
    .replaceAll(/^\\.*$/gm, "")
    .replace(":'day'", "$1");
  const lines = await it.ask<{ jsonb_build_object: Record<string, string> }>(text, [day]);
  expect(lines).toMatchObject([{ jsonb_build_object: { event_id: key.eventId, headers: {} } }]);
  const body = Buffer.from(lines[0]?.jsonb_build_object["body_base64"] ?? "", "base64");
  expect(body.equals((await it.bodyOf(key)) ?? Buffer.of())).toBe(true);
});

describe("A move of bodies", () => {
  test("takes those of pending and failed events to today's partition, and no others", async () => {
    const [pending, failed, done] = [
      await it.event("pending", 40),
      await it.event("failed", 40),
      await it.event("completed", 40),
    ];
    const old = await it.partition(40);
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 2, moved: 2 });
    expect(await it.retention.moveBodies(old)).toEqual({ found: 0, moved: 0, bytes: 0 });
    for (const key of [pending, failed]) expect(await dayOf(key)).toEqual([await today()]);
    expect(await dayOf(done)).toEqual([old.day]);
    for (const key of [pending, failed, done]) expect(await it.bodyOf(key)).toBeDefined();
  });

  test("goes on to the next day for as long as the event is not completed", async () => {
    const key = await it.event("failed", 80);
    const body = await it.bodyOf(key);
    await it.retention.moveBodies(await it.partition(80));
    // Forty days pass after the move.
    await it.ageAll(40);
    expect(await it.retention.moveBodies(await it.partition(40))).toMatchObject({ moved: 1 });
    expect(await it.bodyOf(key)).toEqual(body);
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
    const number = await it.claim({ ...anEvent(), ...key });
    const old = await it.partition(40);
    await attemptWith(it.ledger, [key, number], async () => {
      expect(await it.retention.moveBodies(old)).toEqual({ found: 1, moved: 0, bytes: 0 });
    });
    expect(await it.retention.moveBodies(old)).toMatchObject({ found: 0 });
  });

  test("does not wait for a body that is lost", async () => {
    const key = await it.event("failed", 40);
    await it.ask("DELETE FROM millrace.bodies");
    expect(await it.retention.moveBodies(await it.partition(40))).toMatchObject({ found: 0 });
    expect(await it.statusOf(key)).toBe("failed");
  });

  test("lets a reader, a handler and a retry find the body while it is under way", async () => {
    const [pending, failed] = [await it.event("pending", 40), await it.event("failed", 40)];
    const number = await it.claim({ ...anEvent(), ...pending });
    // It holds up the move when that has locked its events.
    const { name } = await it.partition(0);
    const letGo = await it.holdOpen(`LOCK TABLE millrace.${name} IN SHARE MODE`);
    const moving = it.retention.moveBodies(await it.partition(40));
    await it.untilBlocked();
    expect(await it.bodyOf(pending)).toBeDefined();
    let seen: Uint8Array | undefined;
    const handling = attemptWith(it.ledger, [pending, number], (_tx, { body }) => {
      seen = body;
    });
    const retrying = it.ledger.retries.retryMany([failed]);
    await it.untilBlocked(3);
    await letGo();
    expect(await moving).toMatchObject({ moved: 2 });
    expect(await handling).toBe("completed");
    expect(Buffer.from(seen ?? [])).toEqual(await it.bodyOf(pending));
    expect(await retrying).toMatchObject([{ kind: "retried" }]);
    expect(await it.statusOf(failed)).toBe("pending");
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

describe("The partitions of bodies", () => {
  test("are told with their age by the database's clock, oldest first", async () => {
    const day = await it.makeDay(40);
    const all = await it.retention.partitions();
    expect(all[0]).toMatchObject({ day, ageDays: 40, state: "attached" });
    expect(all.slice(1).map(({ ageDays }) => ageDays)).toEqual(
      Array.from({ length: 15 }, (_, ahead) => 0 - ahead),
    );
    expect(all[0]?.bytes).toBeGreaterThan(0);
  });
});

describe("A drop of a day", () => {
  test("waits for who reads bodies, and is in the way of nobody who comes after", async () => {
    await it.event("completed", 40);
    const old = await it.partition(40);
    const patientOne = createRetentionLedger({ pool: it.pool });
    const key = await it.event("pending");
    const number = await it.claim({ ...anEvent(), ...key });
    let detached = false;
    let dropping: Promise<unknown> = Promise.resolve();
    const handling = attemptWith(it.ledger, [key, number], async () => {
      dropping = patientOne.detach(old).then((answer) => (detached = answer === "detached"));
      await it.untilBlocked();
      await it.event("completed");
      expect(detached).toBe(false);
    });
    expect(await handling).toBe("completed");
    await dropping;
    expect(detached).toBe(true);
  });

  test("that was given up half-way says so, and the next one goes on from there", async () => {
    const done = await it.event("completed", 40);
    const endRead = await readBodies();
    expect(await it.retention.detach(await it.partition(40))).toBe("busy");
    expect(await it.partition(40)).toMatchObject({ state: "detaching" });
    expect(await it.retention.detach(await it.partition(40))).toBe("busy");
    await endRead();
    expect(await it.retention.detach(await it.partition(40))).toBe("detached");
    const out = await it.partition(40);
    expect(out.state).toBe("detached");
    expect(await it.retention.detach(out)).toBe("detached");
    expect(await it.retention.drop(out)).toBe("dropped");
    expect(await it.retention.drop(out)).toBe("dropped");
    await expect(it.partition(40)).rejects.toThrow(/Cannot find/);
    expect(await it.statusOf(done)).toBe("completed");
  });

  test("ends at once when it is stopped", async () => {
    await it.makeDay(40);
    const endRead = await readBodies();
    const stop = new AbortController();
    const waiting = createRetentionLedger({ pool: it.pool }).detach(
      await it.partition(40),
      stop.signal,
    );
    await it.untilBlocked();
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await endRead();
  });
});

describe("Work that one process may do at a time", () => {
  test("is refused to a second one until the first has ended, or has lost its lease", async () => {
    const other = createRetentionLedger({ pool: it.pool });
    const answer = await it.retention.withLeadership(async (signal) => {
      expect(await other.withLeadership(() => Promise.resolve(1))).toBeUndefined();
      await it.ask(
        `UPDATE millrace.leaders SET holder = 'another', expires_at = clock_timestamp() + interval '5 s'`,
      );
      await until(() => signal.aborted);
      return signal.reason as unknown;
    });
    expect(answer).toMatchObject({
      message: expect.stringMatching(/another process may lead/),
    });
    expect(await until(() => other.withLeadership(() => Promise.resolve(1)))).toBe(1);
  });
});

import { createRetentionLedger } from "@millrace/ledger";
import { describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { anEvent } from "../support/events.ts";
import { claim, patient, statusOf, testPool } from "../support/ledger-fixture.ts";
import { openTestRetention } from "../support/retention-fixture.ts";
import { openForEach } from "../support/open-for.ts";

const it = openForEach(openTestRetention);

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
    const number = await claim(it.ledger, { ...anEvent(), ...key });
    let detached = false;
    let dropping: Promise<unknown> = Promise.resolve();
    const handling = it.ledger.claims.attempt(
      key,
      number,
      async () => {
        dropping = patientOne.detach(old).then((answer) => (detached = answer === "detached"));
        await it.untilBlocked();
        await it.event("completed");
        expect(detached).toBe(false);
        return "handled";
      },
      patient(),
    );
    expect(await handling).toBe("completed");
    await dropping;
    expect(detached).toBe(true);
  });

  test("that was given up half-way says so, and the next one goes on from there", async () => {
    const done = await it.event("completed", 40);
    const reader = await it.connect();
    await reader.query("BEGIN");
    await reader.query("SELECT FROM millrace.bodies");
    expect(await it.retention.detach(await it.partition(40))).toBe("busy");
    expect(await it.partition(40)).toMatchObject({ state: "detaching" });
    expect(await it.retention.detach(await it.partition(40))).toBe("busy");
    await reader.query("COMMIT");
    reader.release();
    expect(await it.retention.detach(await it.partition(40))).toBe("detached");
    const out = await it.partition(40);
    expect(out.state).toBe("detached");
    expect(await it.retention.detach(out)).toBe("detached");
    expect(await it.retention.countEventsOf(out)).toBe(1);
    expect(await it.retention.drop(out)).toBe("dropped");
    expect(await it.retention.drop(out)).toBe("dropped");
    await expect(it.partition(40)).rejects.toThrow(/Cannot find/);
    expect(await statusOf(it, done)).toBe("completed");
  });

  test("ends at once when it is stopped", async () => {
    await it.makeDay(40);
    const reader = await it.connect();
    await reader.query("BEGIN");
    await reader.query("SELECT FROM millrace.bodies");
    const stop = new AbortController();
    const waiting = createRetentionLedger({ pool: it.pool }).detach(
      await it.partition(40),
      stop.signal,
    );
    await it.untilBlocked();
    stop.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    await reader.query("COMMIT");
    reader.release();
  });
});

describe("Work that one process may do at a time", () => {
  test("is refused to a second one until the first has ended, or has lost its lease", async () => {
    const other = createRetentionLedger({ pool: it.pool });
    const answer = await it.retention.withLeadership(async (signal) => {
      expect(await other.withLeadership(() => Promise.resolve(1))).toEqual({ kind: "taken" });
      await it.ask(
        `UPDATE millrace.leaders SET holder = 'another', expires_at = clock_timestamp() + interval '5 s'`,
      );
      await until(() => signal.aborted);
      return signal.reason as unknown;
    });
    expect(answer).toMatchObject({
      kind: "done",
      value: { message: expect.stringMatching(/another process may lead/) },
    });
    const taken = await until(async () => {
      const result = await other.withLeadership(() => Promise.resolve(1));
      return result.kind === "done" && result;
    });
    expect(taken.value).toBe(1);
  });
});

import type { EventKey, Failpoint } from "@millrace/core";
import {
  runRetention,
  type RetentionNotice,
  type RetentionPolicy,
  type RetentionResult,
} from "@millrace/operations";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { attemptWith } from "../ledger/attempt-fixture.ts";
import { anEvent } from "../support/events.ts";
import { failure } from "../support/ledger-fixture.ts";
import { openForEach } from "../support/open-for.ts";
import { openTestRetention } from "../support/retention-fixture.ts";

const it = openForEach(openTestRetention);
let notices: RetentionNotice[];
beforeEach(() => void (notices = []));
afterEach(() => disarm());

const POLICY: RetentionPolicy = { bodiesDays: 30, keysDays: 90 };
const runOnce = (policy: RetentionPolicy, signal?: AbortSignal): Promise<RetentionResult> =>
  runRetention(
    { ledger: it.retention, notify: (notice) => void notices.push(notice) },
    policy,
    signal,
  );
const run = (signal?: AbortSignal) => it.untilAlone(() => runOnce(POLICY, signal));
const days = async () => (await it.retention.partitions()).map(({ ageDays }) => ageDays);
const hasBody = async (key: EventKey) => (await it.bodyOf(key)) !== undefined;

const HOOK = Symbol.for("millrace.failpoint");
const disarm = () => void Reflect.deleteProperty(globalThis, HOOK);

function dieAt(step: Failpoint): void {
  Reflect.set(globalThis, HOOK, (reached: Failpoint) => {
    if (reached === step) throw new Error(`died at ${step}`);
  });
}

describe("A run of the retention", () => {
  const failWith = async (fingerprint: string, event = anEvent(), job = "run-1") => {
    const details = { fingerprint, title: "Error: no", stack: [], log: [], logDropped: 0 };
    const attempt = await it.claim(event, job);
    await it.ledger.claims.fail(event, attempt, { ...failure, details });
    return event;
  };
  const forget = (...fingerprints: string[]) =>
    it.ask("UPDATE millrace.events SET fingerprint = NULL WHERE fingerprint = ANY($1)", [
      fingerprints,
    ]);

  test("deletes an error that was last seen past its time, unless it is some event's last error", async () => {
    for (const name of ["1-old", "1-used", "1-new"]) await failWith(name);
    const again = await failWith("1-old");
    await forget("1-old", "1-new");
    await it.ask(
      `UPDATE millrace.error_counts SET last_seen_at = now() - interval '91 days' WHERE fingerprint <> '1-new'`,
    );
    await run();
    const { errors } = await it.ledger.errors.find({ limit: 50 });
    expect(errors.map(({ fingerprint }) => fingerprint).toSorted()).toEqual(["1-new", "1-used"]);
    const counts = "SELECT FROM millrace.error_counts WHERE fingerprint = '1-old'";
    expect(await it.ask(counts)).toEqual([]);
    await failWith("1-old", again, "run-2");
    expect(await it.ledger.errors.get("1-old")).toMatchObject({ attempts: 1, state: "open" });
  });

  test("keeps an ignored error for as long as it is seen, however old it is", async () => {
    await failWith("1-noise");
    await it.ledger.errors.setState("1-noise", { state: "ignored", by: "kim" });
    await it.ask("UPDATE millrace.errors SET state_at = now() - interval '200 days'");
    await it.ask(
      "UPDATE millrace.error_counts SET first_seen_at = now() - interval '200 days', last_seen_at = now() - interval '91 days'",
    );
    await failWith("1-noise");
    await forget("1-noise");
    await run();
    expect(await it.ledger.errors.get("1-noise")).toMatchObject({ state: "ignored", attempts: 2 });
  });

  test("drops the days past their time, after what is not completed has moved on", async () => {
    const [kept, gone] = [await it.event("completed", 30), await it.event("completed", 31)];
    const [failed, pending] = [await it.event("failed", 31), await it.event("pending", 45)];
    const oldest = (await it.partition(30)).day;
    expect(await run()).toMatchObject({
      ...{ kind: "done", dropped: [expect.any(String), expect.any(String)], busy: [] },
      ...{ keysDeleted: 0, oldestDay: oldest },
    });
    expect((await days())[0]).toBe(30);
    expect(await hasBody(gone)).toBe(false);
    for (const key of [kept, failed, pending]) expect(await hasBody(key)).toBe(true);
    expect([await it.statusOf(gone), await it.statusOf(failed)]).toEqual(["completed", "failed"]);
    expect(notices.map(({ kind }) => kind)).toEqual(["moved", "dropped", "moved", "dropped"]);
  });

  test("leaves the days that an attempt uses, and the next one takes them", async () => {
    const held = await it.event("pending", 50);
    await it.event("completed", 40);
    const number = await it.claim({ ...anEvent(), ...held });
    await attemptWith(it.ledger, [held, number], async (_tx, { body }) => {
      // The one holds the event's body; the other's drop waits for a transaction that began before.
      const both = [(await it.partition(50)).day, (await it.partition(40)).day];
      expect(await run()).toMatchObject({ dropped: [], busy: both });
      expect(await it.bodyOf(held)).toEqual(Buffer.from(body));
    });
    expect(await it.partition(40)).toMatchObject({ state: "detaching" });
    expect(await run()).toMatchObject({ dropped: [expect.any(String), expect.any(String)] });
    expect(await it.statusOf(held)).toBe("completed");
  });

  test("ends between two steps when it is stopped", async () => {
    await it.event("failed", 40);
    const stop = new AbortController();
    Reflect.set(globalThis, HOOK, () => stop.abort(new Error("enough")));
    await expect(run(stop.signal)).rejects.toThrow("enough");
    expect(await days()).toContain(40);
  });
});

describe("A run that dies", () => {
  test.each<[Failpoint]>([["retention.moved"], ["retention.detached"], ["retention.keys_deleted"]])(
    "at %s has lost nothing, and the next one goes on from there",
    async (step) => {
      const keys = {
        failed: await it.event("failed", 40),
        pending: await it.event("pending", 91),
        replayed: await it.event("completed", 91),
        forgotten: await it.event("completed", 91),
        young: await it.event("completed", 29),
      };
      await it.ledger.retries.replay([keys.replayed]);
      dieAt(step);
      await expect(run()).rejects.toThrow(`died at ${step}`);
      const again = { ...keys.replayed, generation: 1 };
      const kept = [keys.failed, keys.pending, keys.young, again];
      for (const key of kept) expect(await hasBody(key)).toBe(true);
      disarm();
      expect(await run()).toMatchObject({ busy: [] });
      for (const key of kept) expect(await hasBody(key)).toBe(true);
      expect((await days())[0]).toBe(29);
      expect(await it.statusOf(keys.forgotten)).toBeUndefined();
      expect(await it.statusOf(keys.replayed)).toBe("completed");
    },
  );
});

import { beforeAll, describe, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { patient, useLedger } from "../support/ledger-fixture.ts";
import type { EventFilter } from "@millrace/ledger";

const it = useLedger();
beforeAll(async () => {
  // Seven commits of ten events each: the order within a commit is the key's.
  for (let batch = 0; batch < 7; batch += 1) {
    await it.ledger.intake.accept(
      Array.from({ length: 10 }, (_, n) =>
        anEvent({
          source: n % 2 === 0 ? "shop" : "bank",
          eventId: `evt_${batch}_${n}`,
          type: n < 3 ? "order.paid" : "order.sent",
        }),
      ),
    );
  }
  const failed = anEvent({ source: "bank", eventId: "evt_6_1" });
  await it.failForGood(failed);
  const done = anEvent({ source: "shop", eventId: "evt_6_2" });
  await it.ledger.claims.attempt(
    keyOf(done),
    await it.claim(done),
    () => Promise.resolve("ignored"),
    patient(),
  );
});

const ids = async (filter: EventFilter) =>
  (await it.ledger.reads.findEvents({ limit: 500, ...filter })).events.map(
    (event) => event.event_id,
  );

describe("findEvents", () => {
  test("lists newest first, and pages through all of it without a gap or a repeat", async () => {
    const all = await ids({});
    expect(all).toHaveLength(70);
    expect(all.map((id) => Number(id.split("_")[1]))).toEqual(
      Array.from({ length: 70 }, (_, n) => 6 - Math.floor(n / 10)),
    );
    const paged: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await it.ledger.reads.findEvents({ limit: 7, cursor });
      paged.push(...page.events.map((event) => event.event_id));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(paged).toEqual(all);
  });

  test("filters by source, type, status and outcome, together", async () => {
    expect(await ids({ source: "bank" })).toHaveLength(35);
    expect(await ids({ source: "bank", type: "order.paid" })).toHaveLength(7);
    expect(await ids({ status: "failed" })).toEqual(["evt_6_1"]);
    expect(await ids({ status: "failed", source: "shop" })).toEqual([]);
    expect(await ids({ status: "completed", outcome: "ignored" })).toEqual(["evt_6_2"]);
    expect(await ids({ outcome: "handled" })).toEqual([]);
    expect(await ids({ status: "pending" })).toHaveLength(68);
  });

  test("finds an id or its beginning, in one source or in all, and takes it literally", async () => {
    expect(await ids({ q: "evt_3_4" })).toEqual(["evt_3_4"]);
    expect((await ids({ q: "evt_3" })).toSorted()).toEqual(
      Array.from({ length: 10 }, (_, n) => `evt_3_${n}`),
    );
    expect(await ids({ q: "evt_3", source: "bank" })).toHaveLength(5);
    expect(await ids({ q: "evt%" })).toEqual([]);
    expect(await ids({ q: "vt_3" })).toEqual([]);
    expect(await ids({ q: "a\0" })).toEqual([]);
    expect(await ids({ q: "" })).toHaveLength(70);
  });

  test("bounds the time they were recorded", async () => {
    const [row] = await it.ask<{ at: Date }>(
      "SELECT DISTINCT date_trunc('milliseconds', recorded_at) AS at FROM millrace.events WHERE event_id LIKE 'evt_4%'",
    );
    const at = row?.at;
    const since = await ids({ since: at });
    const until = await ids({ until: at });
    expect(since).toContain("evt_4_0");
    expect(since.length + until.length).toBe(70);
    expect(until).not.toContain("evt_4_0");
  });

  test("refuses a limit and a cursor that are none", async () => {
    const forged = Buffer.from('["2026-01-01; DROP","a","b",0]').toString("base64url");
    const limits = [0, 501, 1.5, Number.NaN].map((limit) => ({ limit }));
    const cursors = ["", "x", forged, "W10"].map((cursor) => ({ cursor }));
    for (const filter of [...limits, ...cursors]) {
      const found = it.ledger.reads.findEvents(filter);
      await expect(found).rejects.toMatchObject({ code: "invalid_request" });
    }
  });
});

describe("findEvent", () => {
  test("gives the latest generation unless one is named", async () => {
    const first = anEvent();
    const second = { ...first, generation: 1, body: Buffer.from("not JSON") };
    await it.ledger.intake.accept([first, second]);
    const lookup = { source: first.source, eventId: first.eventId };
    const { findEvent, findStatus } = it.ledger.reads;
    expect(await findEvent(first)).toMatchObject({ event: { generation: 0 } });
    expect(await findEvent(lookup)).toMatchObject({ event: { generation: 1 }, payload: null });
    expect(await findStatus(first)).toMatchObject({ generation: 0 });
    const latest = { generation: 1, status: "pending", last_error_code: null };
    expect(await findStatus(lookup)).toEqual(latest);
    for (const none of [
      { ...lookup, generation: 2 },
      { ...lookup, eventId: "\0" },
    ]) {
      expect([await findEvent(none), await findStatus(none)]).toEqual([undefined, undefined]);
    }
  });
});

test("countUndone and countCompleted count each source by itself", async () => {
  const undone = await it.ledger.reads.countUndone();
  expect(undone.get("bank")).toEqual({ pending: 34, failed: 1 });
  expect(undone.get("shop")).toMatchObject({ failed: 0 });
  expect([...(await it.ledger.reads.countCompleted())]).toEqual([["shop", 1]]);
});

test("a tenant's events are found, and none of a name that begins alike", async () => {
  const eventIds = ["acme/evt_1", "acme/evt_2", "acme-2/evt_1", "acme0/evt_1", "acme"];
  const events = ["bank", "shop"].flatMap((source) =>
    eventIds.map((eventId) => anEvent({ source, eventId })),
  );
  await it.ledger.intake.accept(events);
  expect((await ids({ tenant: "acme", source: "bank" })).toSorted()).toEqual(eventIds.slice(0, 2));
  expect(await ids({ tenant: "acme" })).toHaveLength(4);
  expect(await ids({ tenant: "acme", q: "acme/evt_2" })).toHaveLength(2);
  expect(await ids({ tenant: "acm" })).toEqual([]);
  const counted = await it.ledger.reads.countEvents({ tenant: "acme", source: "shop" }, 10);
  expect(counted).toMatchObject({ groups: [{ count: 2 }] });
});

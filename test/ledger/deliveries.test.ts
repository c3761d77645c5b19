import { countActivity } from "@millrace/ledger";
import { expect, test } from "vitest";
import { anEvent } from "../support/events.ts";
import { useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();

const event = anEvent({ acceptedAtMs: Date.parse("2026-11-21T10:00:00Z") });
const lookup = { source: event.source, eventId: event.eventId };
const at = (second: number) => new Date(event.acceptedAtMs + second * 1_000).toISOString();
const repeat = (second: number, outcome: "duplicate" | "conflict" | "failed" = "duplicate") => ({
  ...lookup,
  outcome,
  atMs: event.acceptedAtMs + second * 1_000,
});
const found = async () => (await it.ledger.reads.findEvent(event))?.deliveries;

test("a first delivery is the event's own, and takes no row", async () => {
  await it.ledger.intake.accept([event]);
  const first = { at: at(0), outcome: "accepted", ingress: null };
  expect(await found()).toEqual({ total: 1, recent: [first] });
  expect(await it.ask("SELECT FROM millrace.deliveries")).toEqual([]);
});

test("repeats are counted by all ingresses together, and the last ten listed, newest first", async () => {
  await it.ledger.intake.noteDeliveries("host-1", [repeat(1), repeat(4, "conflict")]);
  await it.ledger.intake.noteDeliveries("host-2", [repeat(3, "failed"), repeat(2)]);
  expect(await found()).toEqual({
    total: 5,
    recent: [
      { at: at(4), outcome: "conflict", ingress: "host-1" },
      { at: at(3), outcome: "failed", ingress: "host-2" },
      { at: at(2), outcome: "duplicate", ingress: "host-2" },
      { at: at(1), outcome: "duplicate", ingress: "host-1" },
      { at: at(0), outcome: "accepted", ingress: null },
    ],
  });
  const storm = Array.from({ length: 500 }, (_, n) => repeat(10 + n));
  await it.ledger.intake.noteDeliveries("host-1", storm);
  const after = await found();
  expect(after?.total).toBe(505);
  expect(after?.recent.map((one) => one.at)).toEqual(
    Array.from({ length: 10 }, (_, n) => at(509 - n)),
  );
});

test("two ingresses that note the same events at once wait for each other, and no repeat is lost", async () => {
  const events = Array.from({ length: 50 }, (_, n) => ({ ...repeat(1), eventId: `evt_both_${n}` }));
  await Promise.all([
    it.ledger.intake.noteDeliveries("host-1", events),
    it.ledger.intake.noteDeliveries("host-2", events.toReversed()),
  ]);
  const counted = "SELECT repeats FROM millrace.deliveries WHERE event_id LIKE 'evt_both_%'";
  expect(await it.ask(counted)).toEqual(events.map(() => ({ repeats: 2 })));
});

test("an event that a handler emitted was delivered by nobody", async () => {
  expect(
    await it.ledger.reads.findDeliveries({ source: "mails", eventId: "none" }, undefined),
  ).toEqual({ total: 0, recent: [] });
});

const MINUTE = 60_000;
const bad = (source: string | undefined, deliveries: number, agoMs = 0) => ({
  ...{ source, code: "invalid_signature", deliveries, agoMs },
});

test("refusals of all ingresses are counted by source and code, and those before the last minutes are left out", async () => {
  await it.ledger.intake.noteRefusals([bad("acme", 2), bad("acme", 3, 3 * MINUTE)]);
  await it.ledger.intake.noteRefusals([bad("acme", 4), bad("other", 1, 9 * MINUTE)]);
  await it.ledger.intake.noteRefusals([
    { source: undefined, code: "unknown_source", deliveries: 20, agoMs: 0 },
  ]);
  expect(await it.ledger.reads.findRefusals(5)).toEqual([
    { source: undefined, code: "unknown_source", deliveries: 20 },
    { source: "acme", code: "invalid_signature", deliveries: 9 },
  ]);
  expect(await it.ledger.reads.findRefusals(10)).toHaveLength(3);
});

test("two ingresses that count the same reasons at once wait for each other, and lose nothing", async () => {
  await it.ask("TRUNCATE millrace.refusals");
  const reasons = Array.from({ length: 50 }, (_, n) => bad(`source-${n}`, 1));
  await Promise.all([
    it.ledger.intake.noteRefusals(reasons),
    it.ledger.intake.noteRefusals(reasons.toReversed()),
  ]);
  const counted = await it.ledger.reads.findRefusals(5);
  expect(counted.map(({ deliveries }) => deliveries)).toEqual(reasons.map(() => 2));
});

test("the worker that counts deletes refusals after a day", async () => {
  await it.ask("TRUNCATE millrace.refusals");
  await it.ledger.intake.noteRefusals([
    bad("new", 1, 24 * 60 * MINUTE),
    bad("old", 1, 26 * 60 * MINUTE),
  ]);
  await countActivity(it.pool);
  expect(await it.ask("SELECT source FROM millrace.refusals")).toEqual([{ source: "new" }]);
});

test("a source that refused the signatures of its last deliveries is found, until it takes one", async () => {
  await it.ask("TRUNCATE millrace.refusals");
  const refused = (source: string, code: string, deliveries: number, agoMs = 0) => {
    return { source, code, deliveries, agoMs };
  };
  await it.ledger.intake.noteRefusals([
    ...[refused("strict", "malformed", 9), refused("strict", "too_old", 11, 60 * MINUTE)],
    ...[refused("strict", "too_new", 7, 90 * MINUTE), refused("few", "malformed", 19)],
    refused("large", "body_too_large", 50),
  ]);
  const found20 = async () =>
    (await it.ledger.reads.findRefusedSources(20)).map((one) => [one.code, one.deliveries]);
  const all = [
    ["too_old", 11],
    ["malformed", 9],
    ["too_new", 7],
  ];
  expect(await found20()).toEqual(all);

  await it.ledger.intake.accept([{ ...event, source: "strict", acceptedAtMs: Date.now() }]);
  expect(await found20()).toEqual([]);
  const before = "now() - interval '70 minutes' WHERE source = 'strict'";
  await it.ask(`UPDATE millrace.events SET received_at = ${before}`);
  expect(await found20()).toEqual(all);

  const again = { ...repeat(0), source: "strict" };
  await it.ledger.intake.noteDeliveries("host-1", [{ ...again, atMs: Date.now() }]);
  expect(await found20()).toEqual([]);
  await it.ask("DELETE FROM millrace.deliveries WHERE source = 'strict'");
  await it.ask(
    `INSERT INTO millrace.activity (at, events, seconds, took, waited, source, type, kind)
     VALUES (now() - interval '30 minutes', 1, 60, 0, false, 'strict', 't', 'recorded')`,
  );
  expect(await found20()).toEqual([]);
});

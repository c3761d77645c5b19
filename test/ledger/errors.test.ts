import type { AttemptFailure, IncomingEvent } from "@millrace/core";
import { beforeEach, expect, test } from "vitest";
import { anEvent, keyOf } from "../support/events.ts";
import { failure, useLedger } from "../support/ledger-fixture.ts";

const it = useLedger();
let made = 0;
let fingerprint: string;
beforeEach(() => {
  fingerprint = `1-test${String((made += 1)).padStart(12, "0")}`;
});

const stack = [{ file: "handlers.ts", line: 7, column: 3, function: "ship", own: true }];
const log = [{ at: "2026-11-23T10:00:00.000Z", level: "info", text: "shipping \0" }] as const;

function failed(over: Partial<AttemptFailure> = {}): AttemptFailure {
  const details = { fingerprint, title: "Error: No such <id>", stack, log, logDropped: 2 };
  return { ...failure, details, ...over };
}

async function fail(over: Partial<AttemptFailure> = {}, event = anEvent()): Promise<IncomingEvent> {
  const attempt = await it.claim(event);
  await it.ledger.claims.fail(keyOf(event), attempt, failed(over));
  return event;
}

const group = () => it.ledger.errors.get(fingerprint);

const set = (state: "open" | "resolved" | "ignored") =>
  it.ledger.errors.setState(fingerprint, { state, note: "fixed in 2.4", by: "kim" });

test("Failures of twenty connections at once are counted exactly, in one group", async () => {
  const events = Array.from({ length: 60 }, (_, index) =>
    anEvent({ type: index % 3 === 0 ? "order.paid" : "order.shipped" }),
  );
  await Promise.all(events.map((event, index) => fail({ final: index < 10 }, event)));
  expect(await group()).toMatchObject({
    ...{ title: "Error: No such <id>", code: "handler_failed", state: "open" },
    ...{ attempts: 60, failed: 10, pending: 50 },
    sources: [
      { type: "order.shipped", attempts: 40 },
      { type: "order.paid", attempts: 20 },
    ],
  });
  const { sample, line } = await group();
  expect(events.map(({ eventId }) => eventId)).toContain(sample.event_id);
  expect(line).toBe("handlers.ts:7");
});

test("The events of a group are counted of the source and the type that are asked for", async () => {
  await fail({ final: true }, anEvent({ source: "acme", type: "order.paid" }));
  await fail({ final: false }, anEvent({ source: "acme", type: "order.shipped" }));
  await fail({ final: true }, anEvent({ source: "other", type: "order.paid" }));
  const counts = async (filter: { source?: string; type?: string }) => {
    const { errors } = await it.ledger.errors.find({ ...filter, limit: 200 });
    const found = errors.find((error) => error.fingerprint === fingerprint);
    return found && [found.failed, found.pending];
  };
  expect(await counts({})).toEqual([2, 1]);
  expect(await counts({ source: "acme" })).toEqual([1, 1]);
  expect(await counts({ source: "acme", type: "order.paid" })).toEqual([1, 0]);
});

test("What is nobody's error is in no group, and takes the event out of its group", async () => {
  const event = await fail();
  await fail({ counts: false, code: "retry_later", details: undefined }, event);
  expect(await group()).toMatchObject({ attempts: 1, pending: 0 });
});

test("An attempt keeps its stack and its last log lines, and a NUL in them harms nothing", async () => {
  const event = await fail();
  const found = await it.ledger.reads.findEvent(event);
  expect(found?.event.fingerprint).toBe(fingerprint);
  expect(found?.attempt_log).toMatchObject([
    { fingerprint, stack, log: [{ level: "info" }], log_dropped: 2 },
  ]);
});

test("A resolved error that comes back is open again and says so; an ignored one stays ignored", async () => {
  await fail();
  await set("resolved");
  expect(await group()).toMatchObject({ state: "resolved", note: "fixed in 2.4", state_by: "kim" });
  await fail();
  const reopened = await group();
  expect(reopened).toMatchObject({ state: "open", attempts: 2 });
  expect(reopened.reopened_at).not.toBeNull();
  await set("ignored");
  await fail();
  expect(await group()).toMatchObject({ state: "ignored", attempts: 3 });
});

test("An open error is somebody's, until it is resolved or another person is on it", async () => {
  await fail();
  const own = (owner: string | null) => it.ledger.errors.setOwner(fingerprint, owner);
  await own("kim");
  await set("open");
  expect(await group()).toMatchObject({ owner: "kim", note: "fixed in 2.4" });
  await own("ann");
  expect(await group()).toMatchObject({ owner: "ann", note: "fixed in 2.4" });
  await set("resolved");
  expect(await own("kim")).toBe(false);
  expect(await group()).toMatchObject({ state: "resolved", owner: null });
  await fail();
  expect(await group()).toMatchObject({ state: "open", owner: null });
});

test("An error that a person opens again has not come back by itself", async () => {
  await fail();
  await set("resolved");
  await fail();
  const { reopened_at } = await group();
  expect(reopened_at).not.toBeNull();
  // A note on what is open already says nothing about when it came back.
  await set("open");
  expect(await group()).toMatchObject({ state: "open", reopened_at });
  await set("resolved");
  await set("open");
  expect(await group()).toMatchObject({ state: "open", reopened_at: null });
  await set("resolved");
  await fail();
  const again = Date.parse((await group()).reopened_at ?? "");
  expect(again).toBeGreaterThan(Date.parse(reopened_at ?? ""));
});

test("Events are listed and counted by their error", async () => {
  const event = await fail({ final: true });
  const filter = { error: fingerprint, status: "failed" } as const;
  const { events } = await it.ledger.reads.findEvents(filter);
  expect(events.map(({ event_id }) => event_id)).toEqual([event.eventId]);
  expect(await it.ledger.reads.countEvents(filter, 10)).toMatchObject({ groups: [{ count: 1 }] });
  expect(await it.ledger.reads.countEvents({ error: "1-none" }, 10)).toMatchObject({ groups: [] });
  const { errors, total } = await it.ledger.errors.find({ q: "no such", limit: 200 });
  expect(errors.map((one) => one.fingerprint)).toContain(fingerprint);
  expect(total).toBeGreaterThanOrEqual(errors.length);
});

test("A fingerprint that no error has, or that several begin with, is refused", async () => {
  await expect(it.ledger.errors.get("2-")).rejects.toMatchObject({ code: "error_not_found" });
  await expect(it.ledger.errors.get("1-test")).rejects.toMatchObject({ code: "invalid_request" });
});

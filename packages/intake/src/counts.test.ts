import type { IncomingEvent } from "@millrace/core";
import type { NotedRefusals, RepeatedDelivery } from "@millrace/ledger";
import { expect, test } from "vitest";
import { createDeliveryCounter, createRefusalCounter } from "./counts.ts";

const event = (eventId: string, acceptedAtMs = 0) =>
  ({ source: "plain", eventId, acceptedAtMs }) as IncomingEvent;

/** A counter for a ledger, which shows its batches and the lost deliveries. */
function deliveriesFor(write: () => Promise<void>) {
  const batches: (readonly RepeatedDelivery[])[] = [];
  const lost: number[] = [];
  const noteDeliveries = async (ingress: string, repeated: readonly RepeatedDelivery[]) => {
    expect(ingress).toBe("host-1");
    batches.push(repeated);
    await write();
  };
  const onLost = (deliveries: number) => lost.push(deliveries);
  const counter = createDeliveryCounter({ noteDeliveries }, { ingress: "host-1", onLost });
  return { ...counter, batches, lost, lostInAll: () => lost.reduce((sum, n) => sum + n, 0) };
}

test("what was delivered again is noted together, and what is new, or was not stored, is not", async () => {
  const counter = deliveriesFor(async () => {});
  counter.add(
    [event("a"), event("b", 7), event("c", 8), event("d"), event("e", 9), event("f", 9)],
    ["accepted", "duplicate", "conflict", new Error("away"), "failed", "completed"],
  );
  counter.add([event("b", 10)], ["duplicate"]);
  await counter.close(1_000);
  const source = "plain";
  expect(counter.batches).toEqual([
    [
      { source, eventId: "b", outcome: "duplicate", atMs: 7 },
      { source, eventId: "c", outcome: "conflict", atMs: 8 },
      { source, eventId: "e", outcome: "failed", atMs: 9 },
      { source, eventId: "f", outcome: "duplicate", atMs: 9 },
      { source, eventId: "b", outcome: "duplicate", atMs: 10 },
    ],
  ]);
  expect(counter.lost).toEqual([]);
});

test("at most 10,000 wait, in batches of 500, and what is more is counted as lost", async () => {
  const counter = deliveriesFor(async () => {});
  for (let n = 0; n < 10_003; n += 1) counter.add([event(`evt_${n}`)], ["duplicate"]);
  expect(counter.lostInAll()).toBe(3);
  await counter.close(5_000);
  expect(counter.batches.map((batch) => batch.length)).toEqual(
    Array.from({ length: 20 }, () => 500),
  );
});

test("what a ledger does not take is counted as lost, and so is what is left at the end", async () => {
  const away = deliveriesFor(() => Promise.reject(new Error("away")));
  away.add([event("a"), event("b")], ["duplicate", "duplicate"]);
  await away.close(1_000);
  expect(away.lost).toEqual([2]);

  let answer = () => {};
  const silent = deliveriesFor(() => new Promise((resolve) => (answer = resolve)));
  for (let n = 0; n < 501; n += 1) silent.add([event(`evt_${n}`)], ["duplicate"]);
  await silent.close(50);
  expect(silent.lost).toEqual([1]);
  answer();
});

/** A counter for a ledger that answers as `write` does, on a clock that a test moves. */
function refusalsFor(write: (call: number) => Promise<void>) {
  const calls: (readonly NotedRefusals[])[] = [];
  const clock = { nowMs: 0 };
  const noteRefusals = async (refusals: readonly NotedRefusals[]) => {
    calls.push(refusals);
    await write(calls.length);
  };
  return { ...createRefusalCounter({ noteRefusals }, () => clock.nowMs), calls, clock };
}

test("a flood of one reason is one number, written with all others at once", async () => {
  const counter = refusalsFor(async () => {});
  for (let n = 0; n < 100_000; n += 1) counter.add("acme", "invalid_signature");
  counter.add("acme", "body_too_large");
  counter.add(undefined, "unknown_source");
  await counter.close(1_000);
  expect(counter.calls).toEqual([
    [
      { source: "acme", code: "invalid_signature", deliveries: 100_000, agoMs: 0 },
      { source: "acme", code: "body_too_large", deliveries: 1, agoMs: 0 },
      { source: undefined, code: "unknown_source", deliveries: 1, agoMs: 0 },
    ],
  ]);
});

test("what Postgres did not take is written later, with its own minute, until it is ten minutes old", async () => {
  let failed = () => {};
  const firstCall = new Promise<void>((resolve) => (failed = resolve));
  const counter = refusalsFor(async (call) => {
    if (call > 1) return;
    failed();
    throw new Error("away");
  });
  counter.add("acme", "invalid_signature");
  await firstCall;
  counter.clock.nowMs = 9 * 60_000;
  counter.add("acme", "invalid_signature");
  counter.clock.nowMs = 9 * 60_000 + 1_000;
  await counter.close(1_000);
  expect(counter.calls[1]?.toSorted((a, b) => b.agoMs - a.agoMs)).toEqual([
    { source: "acme", code: "invalid_signature", deliveries: 1, agoMs: 541_000 },
    { source: "acme", code: "invalid_signature", deliveries: 1, agoMs: 1_000 },
  ]);

  const late = refusalsFor(async () => {});
  late.add("acme", "invalid_signature");
  late.clock.nowMs = 10 * 60_000;
  await late.close(1_000);
  expect(late.calls).toEqual([]);
});

test("a Postgres that does not answer holds up no end of the process", async () => {
  const counter = refusalsFor(() => new Promise(() => {}));
  counter.add("acme", "invalid_signature");
  await counter.close(50);
});

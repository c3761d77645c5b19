import type { IncomingEvent } from "@millrace/core";
import type { RepeatedDelivery } from "@millrace/ledger";
import { expect, test } from "vitest";
import { createDeliveryNotes } from "./delivery-notes.ts";

const event = (eventId: string, acceptedAtMs = 0) =>
  ({ source: "plain", eventId, acceptedAtMs }) as IncomingEvent;

/** Notes for a ledger, which shows what it was given and what was lost. */
function notesFor(write: () => Promise<void>) {
  const batches: (readonly RepeatedDelivery[])[] = [];
  const lost: number[] = [];
  const noteDeliveries = async (ingress: string, repeated: readonly RepeatedDelivery[]) => {
    expect(ingress).toBe("host-1");
    batches.push(repeated);
    await write();
  };
  const onLost = (deliveries: number) => lost.push(deliveries);
  const notes = createDeliveryNotes({ noteDeliveries }, { ingress: "host-1", onLost });
  return { ...notes, batches, lost, lostInAll: () => lost.reduce((sum, n) => sum + n, 0) };
}

test("what was delivered again is noted together, and what is new, or was not stored, is not", async () => {
  const notes = notesFor(async () => {});
  notes.add(
    [event("a"), event("b", 7), event("c", 8), event("d"), event("e", 9), event("f", 9)],
    ["accepted", "duplicate", "conflict", new Error("away"), "failed", "completed"],
  );
  notes.add([event("b", 10)], ["duplicate"]);
  await notes.close(1_000);
  const source = "plain";
  expect(notes.batches).toEqual([
    [
      { source, eventId: "b", outcome: "duplicate", atMs: 7 },
      { source, eventId: "c", outcome: "conflict", atMs: 8 },
      { source, eventId: "e", outcome: "failed", atMs: 9 },
      { source, eventId: "f", outcome: "duplicate", atMs: 9 },
      { source, eventId: "b", outcome: "duplicate", atMs: 10 },
    ],
  ]);
  expect(notes.lost).toEqual([]);
});

test("at most 10,000 wait, in batches of 500, and what is more is counted as lost", async () => {
  const notes = notesFor(async () => {});
  for (let n = 0; n < 10_003; n += 1) notes.add([event(`evt_${n}`)], ["duplicate"]);
  expect(notes.lostInAll()).toBe(3);
  await notes.close(5_000);
  expect(notes.batches.map((batch) => batch.length)).toEqual(Array.from({ length: 20 }, () => 500));
});

test("what a ledger does not take is counted as lost, and so is what is left at the end", async () => {
  const away = notesFor(() => Promise.reject(new Error("away")));
  away.add([event("a"), event("b")], ["duplicate", "duplicate"]);
  await away.close(1_000);
  expect(away.lost).toEqual([2]);

  let answer = () => {};
  const silent = notesFor(() => new Promise((resolve) => (answer = resolve)));
  for (let n = 0; n < 501; n += 1) silent.add([event(`evt_${n}`)], ["duplicate"]);
  await silent.close(50);
  expect(silent.lost).toEqual([1]);
  answer();
});

import type { NotedRefusals } from "@millrace/ledger";
import { expect, test } from "vitest";
import { createRefusalNotes } from "./refusal-notes.ts";

/** Notes for a ledger that answers as `write` does, on a clock that a test moves. */
function notesFor(write: (call: number) => Promise<void>) {
  const calls: (readonly NotedRefusals[])[] = [];
  const clock = { nowMs: 0 };
  const noteRefusals = async (refusals: readonly NotedRefusals[]) => {
    calls.push(refusals);
    await write(calls.length);
  };
  return { ...createRefusalNotes({ noteRefusals }, () => clock.nowMs), calls, clock };
}

test("a flood of one reason is one number, written with all others at once", async () => {
  const notes = notesFor(async () => {});
  for (let n = 0; n < 100_000; n += 1) notes.add("acme", "invalid_signature");
  notes.add("acme", "body_too_large");
  notes.add(undefined, "unknown_source");
  await notes.close(1_000);
  expect(notes.calls).toEqual([
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
  const notes = notesFor(async (call) => {
    if (call > 1) return;
    failed();
    throw new Error("away");
  });
  notes.add("acme", "invalid_signature");
  await firstCall;
  notes.clock.nowMs = 9 * 60_000;
  notes.add("acme", "invalid_signature");
  notes.clock.nowMs = 9 * 60_000 + 1_000;
  await notes.close(1_000);
  expect(notes.calls[1]?.toSorted((a, b) => b.agoMs - a.agoMs)).toEqual([
    { source: "acme", code: "invalid_signature", deliveries: 1, agoMs: 541_000 },
    { source: "acme", code: "invalid_signature", deliveries: 1, agoMs: 1_000 },
  ]);

  const late = notesFor(async () => {});
  late.add("acme", "invalid_signature");
  late.clock.nowMs = 10 * 60_000;
  await late.close(1_000);
  expect(late.calls).toEqual([]);
});

test("a Postgres that does not answer holds up no end of the process", async () => {
  const notes = notesFor(() => new Promise(() => {}));
  notes.add("acme", "invalid_signature");
  const began = performance.now();
  await notes.close(50);
  expect(performance.now() - began).toBeLessThan(1_000);
});

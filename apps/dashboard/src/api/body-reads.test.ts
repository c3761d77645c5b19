import type { Principal } from "@millrace/api-contract";
import type { EventKey } from "@millrace/core";
import type { AuditedFact } from "@millrace/ledger";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createBodyReads } from "./body-reads.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const OPS: Principal = { user: "ops", role: "operator", via: "session" };
const anEvent = (over: Partial<EventKey> = {}): EventKey => ({
  ...{ source: "acme", eventId: "evt_1", generation: 0 },
  ...over,
});

test("a reader's readings of an event within an hour are one entry", async () => {
  const facts: AuditedFact[] = [];
  const record = async (given: readonly AuditedFact[]) => void facts.push(...given);
  const recordRead = createBodyReads({ audit: { record } as never });
  await recordRead(OPS, anEvent());
  await recordRead(OPS, anEvent());
  expect(facts).toEqual([
    {
      ...{ actor: "ops", role: "operator", via: "session", action: "read_body" },
      ...{ source: "acme", eventId: "evt_1", generation: 0, result: { shown: true } },
    },
  ]);
  await recordRead({ ...OPS, user: "ada" }, anEvent());
  await recordRead(OPS, anEvent({ generation: 1 }));
  expect(facts).toHaveLength(3);
  vi.advanceTimersByTime(3_600_000);
  await recordRead(OPS, anEvent());
  expect(facts).toHaveLength(4);
});

test("a reading that cannot be written down is refused, and again", async () => {
  const record = () => Promise.reject(new Error("away"));
  const recordRead = createBodyReads({ audit: { record } as never });
  await expect(recordRead(OPS, anEvent())).rejects.toThrow("away");
  await expect(recordRead(OPS, anEvent())).rejects.toThrow("away");
});

import { parseConfig, type EventKey, type IncomingEvent, type StoreResult } from "@millrace/core";
import { expect, test, vi } from "vitest";
import { createLedgerStore } from "./ledger-store.ts";
import type { IntakeNotice } from "./notice.ts";

const { sources } = parseConfig({
  sources: { plain: { provider: { createVerifier: () => {} } as never, options: {} } },
});

const event = (eventId: string): IncomingEvent => ({
  source: "plain",
  eventId,
  generation: 0,
  type: "thing.happened",
  acceptedAtMs: 0,
  bodyHash: "",
  headers: { "x-kept": "kept" },
  unsigned: false,
  body: Buffer.from("{}"),
});

type Answers = Readonly<Record<string, StoreResult>>;
type Enqueue = (ids: readonly string[]) => Promise<readonly StoreResult[]>;

/**
 * A ledger store over a ledger that answers from a table and over a queue; it shows what both were
 * asked.
 */
function storeOver(ledger: Answers, enqueue: Enqueue = async (ids) => ids.map(() => "accepted")) {
  const enqueued: IncomingEvent[] = [];
  const marked: string[] = [];
  const notices: IntakeNotice[] = [];
  const pressure = { depth: 0, oldestAgeMs: undefined as number | undefined };
  const store = createLedgerStore({
    sources,
    notify: (notice) => notices.push(notice),
    ledger: {
      accept: async (events) => events.map(({ eventId }) => ledger[eventId] ?? "accepted"),
      markEnqueued: async (keys: readonly EventKey[]) => {
        marked.push(...keys.map(({ eventId }) => eventId));
      },
      ping: async () => {},
    },
    queue: {
      enqueue: async (events, options) => {
        const delaysMs = events.map(() => 0);
        expect(options).toEqual({ identityOnly: true, exact: true, delaysMs });
        enqueued.push(...events);
        return await enqueue(events.map(({ eventId }) => eventId));
      },
      ping: async () => {},
      breaker: { isOpen: false, trip: () => {} },
      pressure: () => ({ memoryShare: undefined, of: () => pressure }),
    },
  });
  const idsEnqueued = () => enqueued.map(({ eventId }) => eventId);
  return {
    ...{ enqueued, idsEnqueued, marked, notices, pressure },
    put: (...ids: string[]) => store.put(ids.map(event)),
    close: (timeoutMs = 5_000) => store.close(timeoutMs),
  };
}

test("an answer does not wait for a queue that hangs", async () => {
  const { put, idsEnqueued } = storeOver({}, () => new Promise(() => {}));
  expect(await put("one")).toEqual(["accepted"]);
  expect(await put("two")).toEqual(["accepted"]);
  await vi.waitFor(() => expect(idsEnqueued()).toContain("one"));
});

test("identities go to the queue afterwards, without body and headers, and that is noted", async () => {
  const { put, close, enqueued, marked } = storeOver({});
  await put("first", "second");
  await close();
  expect(enqueued).toMatchObject([
    { eventId: "first", headers: {}, body: new Uint8Array() },
    { eventId: "second" },
  ]);
  expect(marked).toEqual(["first", "second"]);
});

test("what the ledger knew, or could not take, is not enqueued", async () => {
  const refused = new Error("refused");
  const { put, close, idsEnqueued } = storeOver({
    old: "duplicate",
    dead: "failed",
    other: "conflict",
    bad: refused,
  });
  const answers = ["accepted", "duplicate", "failed", "conflict", refused];
  expect(await put("fresh", "old", "dead", "other", "bad")).toEqual(answers);
  await close();
  expect(idsEnqueued()).toEqual(["fresh"]);
});

test("what the queue did not take is told, and not noted as enqueued", async () => {
  const error = new Error("no room");
  const { put, close, marked, notices } = storeOver({}, async () => [error, "duplicate"]);
  await put("first", "second");
  await close();
  expect(marked).toEqual(["second"]);
  expect(notices).toEqual([{ kind: "left_behind", events: 1, error }]);
});

test("a queue that throws leaves its events to the reconciler", async () => {
  const error = new Error("away");
  const { put, close, marked, notices } = storeOver({}, () => Promise.reject(error));
  await put("first", "second");
  await close();
  expect(marked).toEqual([]);
  expect(notices).toEqual([{ kind: "left_behind", events: 2, error }]);
});

test("a queue that is past its limits is not given anything", async () => {
  const { put, close, idsEnqueued, pressure } = storeOver({});
  pressure.depth = 100_000;
  await put("first");
  pressure.depth = 99_999;
  await put("second");
  await close();
  expect(idsEnqueued()).toEqual(["second"]);
});

test("behind a queue that hangs no more than so much waits; the rest is left behind", async () => {
  const { put, close, idsEnqueued, notices } = storeOver({}, () => new Promise(() => {}));
  const ids = Array.from({ length: 1_000 }, (_, index) => `evt_${index}`);
  for (let batch = 0; batch < 30; batch += 1) {
    await put(...ids.map((id) => `${id}_${batch}`));
  }
  const left = () =>
    notices.reduce((sum, notice) => sum + (notice.kind === "left_behind" ? notice.events : 0), 0);
  const waiting = 30_000 - left() - idsEnqueued().length;
  expect(waiting).toBeGreaterThan(0);
  expect(waiting).toBeLessThanOrEqual(20_000);
  await close(10);
  expect(left() + idsEnqueued().length).toBe(30_000);
});

test("a close waits for a slow queue as long as it is given", async () => {
  let answer = () => {};
  const { put, close, marked } = storeOver({}, async (ids) => {
    await new Promise<void>((resolve) => (answer = resolve));
    return ids.map(() => "accepted");
  });
  await put("one");
  const closed = close(10_000);
  await vi.waitFor(() => answer !== undefined);
  const timer = setInterval(() => answer(), 5);
  await closed;
  clearInterval(timer);
  expect(marked).toEqual(["one"]);
});

import { MillraceError, type IncomingEvent, type StoreResult } from "@millrace/core";
import { expect, test } from "vitest";
import type { EventStore } from "./event-store.ts";
import { StoreWriter } from "./store-writer.ts";

const EVENT: IncomingEvent = {
  source: "plain",
  eventId: "evt_1",
  generation: 0,
  type: "thing.happened",
  acceptedAtMs: 0,
  bodyHash: "",
  headers: {},
  unsigned: false,
  body: Buffer.from("{}"),
};

function createBreaker() {
  const breaker = {
    isOpen: false,
    trips: 0,
    trip() {
      breaker.trips += 1;
      breaker.isOpen = true;
    },
  };
  return breaker;
}

/** A store whose client has a circuit breaker, and its writer. */
function writerOf(put: EventStore["put"], { restMs = 0 } = {}) {
  const breaker = createBreaker();
  const store: EventStore = {
    name: "queue",
    put,
    ping: async () => {},
    isFull: () => false,
    breaker,
  };
  const writer = new StoreWriter(store, () => {}, {
    ...{ batchMax: 10, timeoutMs: 50, abandonedBytesMax: 0 },
    restMs,
  });
  return { breaker, writer };
}

test("a store is down while the circuit breaker of its client is open", async () => {
  let calls = 0;
  const { breaker, writer } = writerOf(async () => {
    calls += 1;
    return ["accepted"];
  });
  breaker.isOpen = true;
  expect(writer.takes("plain")).toBe(false);
  await expect(writer.check()).rejects.toThrow("Cannot reach the queue");
  expect(await writer.put([EVENT])).toEqual([
    new Error("Cannot reach the queue: it did not answer"),
  ]);
  expect(calls).toBe(0);
  breaker.isOpen = false;
  expect(writer.takes("plain")).toBe(true);
  expect(await writer.put([EVENT])).toEqual(["accepted"]);
});

test("a call that its client ends late is not abandoned, and a delivery does not wait for it", async () => {
  let answer: (results: readonly StoreResult[]) => void = () => {};
  const { breaker, writer } = writerOf(() => new Promise((resolve) => (answer = resolve)));
  const [result] = await writer.put([EVENT]);
  expect(result).toMatchObject({ message: "Cannot reach the queue: no answer within 50 ms" });
  // The client has not given the call up, so its bytes count for the client.
  expect([breaker.trips, writer.takes("plain")]).toEqual([0, true]);
  answer(["accepted"]);
});

test("a failure trips the client's circuit breaker, and the store rests also when that is over", async () => {
  const { breaker, writer } = writerOf(() => Promise.reject(new Error("READONLY")), {
    restMs: 60_000,
  });
  expect(await writer.put([EVENT])).toEqual([new Error("READONLY")]);
  expect(breaker.trips).toBe(1);
  breaker.isOpen = false;
  expect(writer.takes("plain")).toBe(false);
  await expect(writer.check()).rejects.toThrow("READONLY");
});

test("an event that the server did not take trips it, and the others of the call are stored", async () => {
  const outage = new MillraceError("unavailable", "Cannot enqueue: no answer in 800 ms");
  const put = async (events: readonly IncomingEvent[]) =>
    events.map(({ source }) => (source === "apart" ? outage : ("accepted" as const)));
  const { breaker, writer } = writerOf(put, { restMs: 60_000 });
  const other = { ...EVENT, source: "apart" };
  expect(await writer.put([EVENT, other, EVENT])).toEqual(["accepted", outage, "accepted"]);
  expect([breaker.trips, writer.takes("plain")]).toEqual([1, false]);
  const down = new Error("Cannot reach the queue: it did not answer");
  expect(await writer.put([EVENT])).toEqual([down]);
  await expect(writer.check()).rejects.toBe(outage);
});

import type { SourceOptions } from "@millrace/core";
import { Receiver, type IntakeNotice, type RedeliveryPort } from "@millrace/intake";
import { afterEach, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { createMemoryStore } from "./memory-store.ts";
import { plainConfig, SECRETS, signed } from "./plain-config.ts";

const ANSWER_TIMEOUT_MS = 1_000;
const STORE_TIMEOUT_MS = 400;
const HANG = () => new Promise<never>(() => {});

const opened: { close(): Promise<void> }[] = [];
afterEach(() => Promise.all(opened.splice(0).map((receiver) => receiver.close())));

function openReceiver(policy: SourceOptions = {}, redelivery?: RedeliveryPort) {
  const queue = createMemoryStore("queue");
  const ledger = createMemoryStore("ledger");
  const notices: IntakeNotice[] = [];
  const receiver = new Receiver({
    config: plainConfig({ answerTimeoutMs: ANSWER_TIMEOUT_MS, inFlightBytesMax: 1e7 }, policy),
    secrets: SECRETS,
    stores: [queue, ledger],
    redelivery,
    notify: (notice) => notices.push(notice),
  });
  opened.push(receiver);
  const deliver = async (data: unknown, source = "plain") => {
    const { body, headers } = signed(data);
    const request = { method: "POST", url: "/", headers, body: Buffer.from(body) };
    return (await receiver.receive({ source, ...request })).status;
  };
  const activeStore = () =>
    receiver.activeStores().find(({ source }) => source === "plain")?.active;
  return { queue, ledger, notices, receiver, deliver, activeStore };
}

describe("of two event stores", () => {
  test("the source's own is the first", async () => {
    const byDefault = openReceiver();
    expect(await byDefault.deliver({ id: "a_1" })).toBe(202);
    expect([byDefault.queue.events.size, byDefault.ledger.events.size]).toEqual([1, 0]);
    const byLedger = openReceiver({ ack: "ledger" });
    expect(await byLedger.deliver({ id: "a_1" })).toBe(202);
    expect([byLedger.queue.events.size, byLedger.ledger.events.size]).toEqual([0, 1]);
  });

  test("the ledger is the first for a body of more than 256 KiB", async () => {
    const { queue, ledger, deliver } = openReceiver();
    const ofBytes = (id: string, bytes: number) =>
      `{"id":"${id}","x":"`.padEnd(bytes - 2, "x") + '"}';
    expect(await deliver(ofBytes("a_just", 262_144), "large")).toBe(202);
    expect(await deliver(ofBytes("a_over", 262_145), "large")).toBe(202);
    expect([...queue.events.keys()]).toEqual(["large/a_just"]);
    expect([...ledger.events.keys()]).toEqual(["large/a_over"]);
    ledger.before = () => Promise.reject(new Error("down"));
    expect(await deliver(ofBytes("a_down", 262_145), "large")).toBe(202);
    expect(queue.events.has("large/a_down")).toBe(true);
  });

  test("the second takes what the first refuses, also when that is one event of several", async () => {
    const { queue, ledger, deliver } = openReceiver();
    queue.refused.add("a_2");
    expect(await deliver([{ id: "a_1" }, { id: "a_2" }, { id: "a_3" }])).toBe(202);
    expect([...queue.events.keys()]).toEqual(["plain/a_1", "plain/a_3"]);
    expect([...ledger.events.keys()]).toEqual(["plain/a_2"]);
    // One event's own fault says nothing of the store.
    expect(await deliver({ id: "a_4" })).toBe(202);
    expect(queue.events.has("plain/a_4")).toBe(true);
  });

  test("one that is full is passed by without a call", async () => {
    const { queue, ledger, deliver, activeStore } = openReceiver();
    queue.full.add("plain");
    expect(await deliver({ id: "a_1" })).toBe(202);
    expect(await deliver({ id: "a_1" }, "large")).toBe(202);
    expect([...queue.events.keys()]).toEqual(["large/a_1"]);
    expect([...ledger.events.keys()]).toEqual(["plain/a_1"]);
    expect(activeStore()).toBe("ledger");
    queue.full.clear();
    expect(activeStore()).toBe("queue");
  });

  test("one that hangs costs its share once, and is asked again when it answers probes", async () => {
    const { queue, ledger, deliver, activeStore } = openReceiver();
    queue.isUp = false;
    queue.before = HANG;
    const startedMs = performance.now();
    const first = Array.from({ length: 60 }, (_, index) => deliver({ id: `a_${index}` }));
    expect(new Set(await Promise.all(first))).toEqual(new Set([202]));
    const tookMs = performance.now() - startedMs;
    expect(tookMs).toBeGreaterThan(STORE_TIMEOUT_MS - 50);
    expect(tookMs).toBeLessThan(ANSWER_TIMEOUT_MS);
    expect(ledger.events.size).toBe(60);
    await until(() => activeStore() === "ledger");

    const calls = queue.calls.length;
    for (let n = 0; n < 50; n += 1) expect(await deliver({ id: `b_${n}` })).toBe(202);
    expect(queue.calls.length).toBe(calls);

    queue.before = undefined;
    queue.isUp = true;
    await until(() => activeStore() === "queue");
    expect(await deliver({ id: "c_1" })).toBe(202);
    expect(queue.events.has("plain/c_1")).toBe(true);
  });

  test("both that hang are answered 503 in time, and both heal", async () => {
    const { queue, ledger, deliver, activeStore } = openReceiver();
    queue.before = HANG;
    ledger.before = HANG;
    queue.isUp = false;
    ledger.isUp = false;
    const startedMs = performance.now();
    const answers = Array.from({ length: 60 }, (_, index) => deliver({ id: `a_${index}` }));
    expect(new Set(await Promise.all(answers))).toEqual(new Set([503]));
    expect(performance.now() - startedMs).toBeLessThan(3 * ANSWER_TIMEOUT_MS);
    await until(() => activeStore() === undefined);
    expect(await deliver({ id: "b_1" })).toBe(503);
    ledger.before = undefined;
    ledger.isUp = true;
    await until(() => activeStore() === "ledger");
    expect(await deliver({ id: "b_1" })).toBe(202);
  });

  test("a readiness check shuts one that does not answer it", async () => {
    const { queue, receiver, activeStore } = openReceiver();
    queue.isUp = false;
    await expect(receiver.checks["queue"]?.()).rejects.toThrow("down");
    expect(activeStore()).toBe("ledger");
  });
});

describe("a delivery of an event that has failed", () => {
  const failed = async (
    policy: SourceOptions,
    retry: RedeliveryPort["retry"] = async () => "retried",
  ) => {
    const retried: string[] = [];
    const made = openReceiver(policy, {
      retry: async (event) => {
        retried.push(event.eventId);
        return await retry(event);
      },
    });
    made.queue.known.set("a_1", "failed").set("a_2", "duplicate").set("a_3", "conflict");
    return { ...made, retried };
  };

  test("retries it, and is answered as a duplicate", async () => {
    const { deliver, retried, notices } = await failed({});
    expect(await deliver({ id: "a_1" })).toBe(200);
    expect(await deliver([{ id: "a_1" }, { id: "a_2" }, { id: "a_3" }, { id: "a_4" }])).toBe(202);
    expect(retried).toEqual(["a_1", "a_1"]);
    expect(notices.filter(({ kind }) => kind === "redelivered")).toHaveLength(2);
  });

  test("leaves it to people where the source says so", async () => {
    const { deliver, retried } = await failed({ redelivery: "ignore" });
    expect(await deliver({ id: "a_1" })).toBe(200);
    expect(retried).toEqual([]);
  });

  test("does not count as retried when there was nothing to retry", async () => {
    const { deliver, retried, notices } = await failed({}, async () => "not_needed");
    expect(await deliver({ id: "a_1" })).toBe(200);
    expect(retried).toEqual(["a_1"]);
    expect(notices.filter(({ kind }) => kind === "redelivered")).toEqual([]);
  });

  test("is answered 503 when it cannot be retried", async () => {
    const { deliver, notices } = await failed({}, () => Promise.reject(new Error("down")));
    expect(await deliver({ id: "a_1" })).toBe(503);
    expect(notices.find(({ kind }) => kind === "redelivered")).toMatchObject({
      source: "plain",
      error: new Error("down"),
    });
  });

  test("is answered 503 in time when the retry hangs, and begins no retries that nobody waits for", async () => {
    const { deliver, retried } = await failed({}, HANG);
    const startedMs = performance.now();
    const answers = await Promise.all(Array.from({ length: 20 }, () => deliver({ id: "a_1" })));
    expect(new Set(answers)).toEqual(new Set([503]));
    expect(performance.now() - startedMs).toBeLessThan(2 * ANSWER_TIMEOUT_MS);
    expect(retried.length).toBeLessThanOrEqual(2);
  });
});

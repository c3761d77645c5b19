import { MillraceError } from "@millrace/core";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startTestIngress, type TestIngress } from "./test-ingress.ts";

let ingress: TestIngress;

beforeEach(async () => {
  // One store has four fifths of it for itself: 1,600 ms.
  ingress = await startTestIngress({ answerTimeoutMs: 2_000 });
});
afterEach(() => ingress.close());

async function readyz() {
  const response = await fetch(`http://127.0.0.1:${ingress.port}/readyz`);
  return { code: response.status, ...((await response.json()) as object) };
}

test("an ingress whose store answers is ready", async () => {
  expect(await readyz()).toEqual({ code: 200, status: "ready", parts: { queue: "ok" } });
});

test("an ingress whose only store hangs is not ready, and is ready when it answers again", async () => {
  const { ping } = ingress.store;
  ingress.store.ping = () => new Promise(() => {});
  expect(await readyz()).toMatchObject({ code: 503, status: "not_ready" });
  ingress.store.ping = ping;
  await expect.poll(readyz, { timeout: 5_000 }).toMatchObject({ code: 200, status: "ready" });
});

test.each([
  ["a code", new MillraceError("redis_unreachable", "10.1.2.3 is away"), "redis_unreachable"],
  ["no code", new Error("connect ECONNREFUSED 10.1.2.3:6379"), "unavailable"],
])("a part that fails with %s names no address", async (_title, error, state) => {
  ingress.store.ping = () => Promise.reject(error);
  expect(await readyz()).toEqual({ code: 503, status: "not_ready", parts: { queue: state } });
  // The rest is logged.
  expect(ingress.notices).toContainEqual({
    kind: "store_failed",
    store: "queue",
    events: 0,
    error,
  });
});

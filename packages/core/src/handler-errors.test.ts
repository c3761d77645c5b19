import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isPermanentError, isRetryLater, PermanentError, RetryLater } from "./handler-errors.ts";

const NOW = Date.parse("2026-11-23T12:00:00Z");
beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

test("errors are known by their brand, also when another copy of the module made them", async () => {
  vi.resetModules();
  const copy = await import("./handler-errors.ts");
  expect(copy.PermanentError).not.toBe(PermanentError);
  expect(isPermanentError(new copy.PermanentError("no"))).toBe(true);
  expect(isRetryLater(new copy.RetryLater({ afterMs: 5 }))).toBe(true);
});

test.each([[null], [undefined], ["x"], [new Error("x")], [{}]])("%s is neither", (thrown) => {
  expect(isPermanentError(thrown)).toBe(false);
  expect(isRetryLater(thrown)).toBe(false);
});

test.each([
  [{ afterMs: 1_500 }, 1_500],
  [{ afterMs: -5 }, 0],
  [{ afterMs: Number.NaN }, 60_000],
  [{ afterMs: Infinity }, Infinity],
  [{ afterMs: "soon" }, 60_000],
  [{}, 60_000],
  [{ until: new Date(NOW + 90_000) }, 90_000],
  [{ until: new Date(NOW - 90_000) }, 0],
  [{ until: new Date("no date") }, 60_000],
])("RetryLater of %o waits %d ms", (given, afterMs) => {
  expect(new RetryLater(given as { afterMs: number }).afterMs).toBe(afterMs);
});

test("RetryLater says why, and what the cause was", () => {
  const cause = new Error("no");
  expect(new RetryLater({ afterMs: 1, reason: "Not packed yet", cause })).toMatchObject({
    name: "RetryLater",
    message: "Not packed yet",
    cause,
  });
  expect(new RetryLater({ afterMs: 1 }).message).toBe("The handler asked to wait");
});

const answered = (headers: Record<string, string>, status = 429) =>
  RetryLater.fromResponse(new Response(null, { status, headers }));

test.each([
  ["120", 120_000],
  ["0", 0],
  ["1.5", 1_500],
  ["86401", 86_400_000],
  ["9".repeat(400), 86_400_000],
  ["Mon, 23 Nov 2026 12:05:00 GMT", 300_000],
  ["Monday, 23-Nov-26 12:05:00 GMT", 300_000],
  ["Mon Nov 23 12:05:00 2026", 300_000],
  ["Mon, 23 Nov 2026 11:00:00 GMT", 0],
  ["Wed, 23 Nov 2050 12:05:00 GMT", 86_400_000],
  ["", 60_000],
  ["-5", 60_000],
  ["soon", 60_000],
  ["1e9", 60_000],
  ["Mon, 99 Nov 2026 12:05:00 GMT", 60_000],
])("an answer with Retry-After %j is a wait of %d ms", (header, afterMs) => {
  expect(answered({ "retry-after": header }).afterMs).toBe(afterMs);
});

test("an answer without Retry-After is a wait of a minute, and its status is the reason", () => {
  expect(answered({}, 503)).toMatchObject({
    afterMs: 60_000,
    message: "The other system answers 503",
  });
  const own = { reason: "The carrier is busy" };
  expect(RetryLater.fromResponse(new Response(null, { status: 429 }), own)).toMatchObject({
    afterMs: 60_000,
    message: "The carrier is busy",
  });
});

const throwing = () => {
  throw new Error("no");
};

test.each([
  ["undefined", undefined],
  ["null", null],
  ["an object without headers", {}],
  ["headers that are none", { status: 429, headers: {} }],
  ["a header that is an object", { status: 429, headers: { get: () => ({}) } }],
  ["headers that throw", { status: 429, headers: { get: throwing } }],
  ["a Proxy that throws", new Proxy({}, { get: throwing })],
])("what is no answer is a wait of a minute: %s", (_, response) => {
  const thrown = RetryLater.fromResponse(response as never);
  expect(thrown.afterMs).toBe(60_000);
  expect(isRetryLater(thrown)).toBe(true);
});

test("a RetryLater of a number alone says what to write", () => {
  expect(() => Reflect.construct(RetryLater, [5_000])).toThrow(
    "new RetryLater({ afterMs: 60_000 })",
  );
});

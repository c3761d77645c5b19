import { expect, test, vi } from "vitest";
import { isPermanentError, isRetryLater, on, PermanentError, RetryLater } from "./handler.ts";

test("errors are known by their brand, also when another copy of the module made them", async () => {
  vi.resetModules();
  const copy = await import("./handler.ts");
  expect(copy.PermanentError).not.toBe(PermanentError);
  expect(isPermanentError(new copy.PermanentError("no"))).toBe(true);
  expect(isRetryLater(new copy.RetryLater({ afterMs: 5 }))).toBe(true);
});

test.each([[null], [undefined], ["x"], [new Error("x")], [{}]])("%s is neither", (thrown) => {
  expect(isPermanentError(thrown)).toBe(false);
  expect(isRetryLater(thrown)).toBe(false);
});

test("a wait is never negative", () => {
  expect(new RetryLater({ afterMs: -5 }).afterMs).toBe(0);
});

test("a set-based handler takes one event as a set of one", async () => {
  const seen: unknown[] = [];
  const handler = on("shop", ["a", "b"], { batch: 100 }, (events) => void seen.push(events));
  expect(handler).toMatchObject({ source: "shop", types: ["a", "b"], set: { max: 100 } });
  await handler.run({ id: "evt_1" } as never, {} as never);
  expect(seen).toEqual([[{ id: "evt_1" }]]);
  expect(on("shop", "a", () => {}).set).toBeUndefined();
});

test.each([1, 501, 2.5, Number.NaN])("a set of %s events is refused, with the bounds", (batch) => {
  expect(() => on("shop", "a", { batch }, () => {})).toThrow(
    `Cannot bind a handler to shop: batch is ${batch}, and must be 2 to 500`,
  );
});

test("a set-based handler without a function is refused", () => {
  expect(() => on("shop", "a", { batch: 2 }, undefined as never)).toThrow(
    "Cannot bind a handler to shop: it is not a function",
  );
});

import { expect, test, vi } from "vitest";
import { isPermanentError, isRetryLater, PermanentError, RetryLater } from "./handler.ts";

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

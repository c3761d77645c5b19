import { expect, test } from "vitest";
import { bulkBody, doneOf, lookedAt } from "./bulk.ts";

test("an empty filter has to be meant", () => {
  expect(bulkBody("retry", {})).toEqual({ all: true });
  expect(bulkBody("retry", { status: "failed" })).toEqual({ all: true });
  expect(bulkBody("replay", {})).toEqual({ all: true });
});

test("a filter goes out as it is; a retry's has no status", () => {
  expect(bulkBody("retry", { status: "failed", source: "shop" })).toEqual({ source: "shop" });
  expect(bulkBody("replay", { status: "failed" })).toEqual({ status: "failed" });
});

test("a dry run came by what it would do and what it would skip", () => {
  const result = { retried: 3, skipped: { body_missing: 2, unknown_source: 1 } };
  expect(doneOf(result)).toBe(3);
  expect(lookedAt(result)).toBe(6);
  expect(doneOf({ skipped: {} })).toBe(0);
});

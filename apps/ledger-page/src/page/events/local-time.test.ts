import { expect, test } from "vitest";
import { fromLocal, toLocal } from "./local-time.ts";

test.each(["2026-01-31T12:00:05.000Z", "2026-07-01T00:00:00.000Z"])(
  "%s is the same instant after a way through the field",
  (instant) => expect(fromLocal(toLocal(instant))).toBe(instant),
);

test("what is no time leaves the field empty, and an empty field is no time", () => {
  expect(toLocal("yesterday")).toBe("");
  expect(toLocal(undefined)).toBe("");
  expect(fromLocal("")).toBe("");
});

import { expect, test } from "vitest";
import { isStorable, isStorableWithin } from "./storable-text.ts";

test.each([["a"], ["é|*{x}\n:../\u202e"], ["\u{1f600}"], ["\ud83d\ude00"]])(
  "%j is storable",
  (text) => {
    expect(isStorable(text)).toBe(true);
    expect(isStorableWithin(text, 100)).toBe(true);
  },
);

test.each([["a\0"], ["\ud800"], ["\ude00\ud83d"]])("%j is not storable", (text) => {
  expect(isStorable(text)).toBe(false);
  expect(isStorableWithin(text, 100)).toBe(false);
});

test("text is measured in bytes, and there must be some", () => {
  expect(isStorableWithin("", 100)).toBe(false);
  expect(isStorableWithin("é".repeat(50), 100)).toBe(true);
  expect(isStorableWithin("é".repeat(51), 100)).toBe(false);
});

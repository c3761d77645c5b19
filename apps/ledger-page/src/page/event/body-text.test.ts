import { shownText } from "@millrace/api-contract/format-body";
import { expect, test } from "vitest";
import { linesOf } from "./body-text.ts";

test("a character that was cut in two is left out", () => {
  const bytes = Buffer.from("\ufeff1 €");
  const part = bytes.subarray(0, -1);
  expect(shownText(part, false)).toBe("\ufeff1 ");
  expect(shownText(part, true)).toBeUndefined();
  expect(shownText(bytes, true)).toBe("\ufeff1 €");
});

test("bytes that are not UTF-8 are not text", () => {
  expect(shownText(Uint8Array.of(0x22, 0xff, 0x22), false)).toBeUndefined();
});

test("a long line of a large body is cut, and of a small one it is not", () => {
  const text = `${"x".repeat(5_000)}\nend`;
  expect(linesOf(text, false)).toEqual(["x".repeat(4_096), "x".repeat(904), "end"]);
  expect(linesOf(text, true)).toHaveLength(2);
});

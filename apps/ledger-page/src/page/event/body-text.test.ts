import { expect, test } from "vitest";
import { findMatches, hexDump, joinParts, linesOf, textOfBytes } from "./body-text.ts";

test("a character that was cut in two is shown once its rest is there", () => {
  const bytes = Buffer.from("1 €");
  const part = bytes.subarray(0, 4);
  expect(textOfBytes(part, false)).toBe("1 ");
  expect(textOfBytes(part, true)).toBeUndefined();
  expect(textOfBytes(joinParts([part, bytes.subarray(4)]), true)).toBe("1 €");
});

test("bytes that are not UTF-8 are not text", () => {
  expect(textOfBytes(Uint8Array.of(0x22, 0xff, 0x22), false)).toBeUndefined();
});

test("a long line of a large body is cut, and of a small one it is not", () => {
  const text = `${"x".repeat(5_000)}\nend`;
  expect(linesOf(text, false)).toEqual(["x".repeat(4_096), "x".repeat(904), "end"]);
  expect(linesOf(text, true)).toHaveLength(2);
});

test("bytes are told by offset, hexadecimal and what is ASCII", () => {
  const bytes = Buffer.from([0, 255, ...Buffer.from("Millrace, bytes"), 10]);
  expect(hexDump(bytes)).toEqual([
    "000000  00 ff 4d 69 6c 6c 72 61 63 65 2c 20 62 79 74 65  ..Millrace, byte",
    `000010  73 0a ${" ".repeat(42)} s.`,
  ]);
});

test("a long body is cut", () => {
  expect(hexDump(Buffer.alloc(10_000))).toHaveLength(256);
});

test("every place is found, in order, in either case, and none twice", () => {
  expect(findMatches(["aXax", "", "xAA"], "ax")).toEqual([
    { line: 0, at: 0 },
    { line: 0, at: 2 },
  ]);
  expect(findMatches(["aaaa"], "AA")).toEqual([
    { line: 0, at: 0 },
    { line: 0, at: 2 },
  ]);
});

test("nothing is found of an empty text", () => expect(findMatches(["a"], "")).toEqual([]));

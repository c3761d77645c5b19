import { expect, test } from "vitest";
import { hexDump } from "./hex-dump.ts";

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

import { expect, test } from "vitest";
import { moment, positiveNumber, wholeNumber } from "./parse-option.ts";

test("a whole number within its bounds is taken, and nothing else", () => {
  const parse = wholeNumber({ min: 1, max: 64 });
  expect(parse("64")).toBe(64);
  expectEach(
    ["0", "65", "1.5", "-1", "1e1", "0x2", "", " 1", "many"],
    parse,
    "whole number, 1 to 64",
  );
});

test("a rate is a number above 0", () => {
  expect(positiveNumber("0.5")).toBe(0.5);
  expectEach(["0", "-1", "NaN", "Infinity", " ", "fast"], positiveNumber, "above 0");
});

test("a moment is an age or a date", () => {
  const hourAgo = Date.now() - 3_600_000;
  expect(Math.abs(moment("1h").getTime() - hourAgo)).toBeLessThan(60_000);
  expect(moment("2026-11-21T10:00Z").toISOString()).toBe("2026-11-21T10:00:00.000Z");
  expectEach(["soon", "1y", "h", "-1h"], moment, "a time");
});

function expectEach(texts: string[], parse: (text: string) => unknown, error: string): void {
  for (const text of texts) expect(() => parse(text)).toThrow(error);
}

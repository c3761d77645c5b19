import { expect, test } from "vitest";
import { cutText } from "./cut-text.ts";

test("A short text is kept as it is", () => {
  expect(cutText("No such customer: ünïcödé 🦫")).toBe("No such customer: ünïcödé 🦫");
});

test("A long text is cut to 8 kB between two characters", () => {
  for (const character of ["a", "é", "漢", "🦫"]) {
    const cut = cutText(`x${character.repeat(10_000)}`);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(8_192);
    expect(Buffer.byteLength(cut)).toBeGreaterThan(8_180);
    expect(cut).toMatch(new RegExp(`^x(${character})+…$`, "u"));
  }
});

test("A text of just 8 kB is kept, and one of a byte more is cut", () => {
  const longest = "a".repeat(8_192);
  expect(cutText(longest)).toBe(longest);
  expect(cutText(`${longest}a`)).toBe(`${"a".repeat(8_189)}…`);
});

test("A NUL and half a surrogate pair are replaced, since Postgres cannot store them", () => {
  expect(cutText("a\0b\ud800c")).toBe("a\u{FFFD}b\u{FFFD}c");
});

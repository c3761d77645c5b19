import { expect, test } from "vitest";
import { age } from "./format-events.ts";
import { formatTable, printable } from "../terminal-text.ts";

test("what would steer a terminal is shown, not done", () => {
  expect(printable("\u001b[2Jevt\r\n\u202eabc\u0000")).toBe(
    "\\u{1b}[2Jevt\\u{d}\\n\\u{202e}abc\\u{0}",
  );
  expect(printable("Größe 漢字 😀")).toBe("Größe 漢字 😀");
});

test("an age is told in its largest unit", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const ago = (seconds: number) => age(new Date(now.getTime() - seconds * 1_000), now);
  expect([0, 59, 60, 3_599, 3_600, 86_399, 86_400, 1e7].map(ago)).toEqual([
    "0s",
    "59s",
    "1m",
    "59m",
    "1h",
    "23h",
    "1d",
    "115d",
  ]);
  expect(ago(-5)).toBe("0s");
});

test("a table's columns stand under each other, and a terminal cuts its lines", () => {
  const rows = [
    ["SOURCE", "ID", "ERROR"],
    ["stripe", "evt_1", ""],
    ["a", "b", "a long reason"],
  ];
  expect(formatTable(rows)).toBe(
    "SOURCE  ID     ERROR\nstripe  evt_1\na       b      a long reason",
  );
  expect(formatTable(rows, 20)).toBe("SOURCE  ID     ERROR\nstripe  evt_1\na       b      a lo…");
});

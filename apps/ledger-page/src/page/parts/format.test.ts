import { durationOf } from "@millrace/api-contract/run-text";
import { expect, test } from "vitest";
import { ageOf } from "./format.ts";

test.each([
  [0, "now"],
  [-5_000, "now"],
  [999, "now"],
  [1_000, "1 s"],
  [59_999, "59 s"],
  [60_000, "1 min"],
  [3_599_000, "59 min"],
  [3_600_000, "1 h"],
  [90 * 86_400_000, "90 d"],
])("an instant %i ms ago is told as %s", (ms, text) => {
  expect(ageOf(1_700_000_000_000 - ms, 1_700_000_000_000)).toBe(text);
});

test.each([
  [-3, "0 ms"],
  [0.4, "0 ms"],
  [850, "850 ms"],
  [2_449, "2.4 s"],
  [12_300, "12 s"],
  [65_000, "1 min 5 s"],
  [11_520_000, "3 h 12 min"],
])("%d ms are told as %s", (ms, text) => expect(durationOf(ms)).toBe(text));

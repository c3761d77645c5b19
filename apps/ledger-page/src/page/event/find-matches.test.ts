import { expect, test } from "vitest";
import { findMatches } from "./find-matches.ts";

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

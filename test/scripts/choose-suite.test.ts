import { expect, test } from "vitest";

// Plain JavaScript, which has to run before anything is built, and so without types.
const script = new URL("../../scripts/choose-suite.mjs", import.meta.url).href;
const { chooseSuite } = (await import(script)) as { chooseSuite: (args: string[]) => string[] };

const USUAL = ["--project=unit", "--project=integration"];

test("npm test runs the unit and integration tests", () => {
  expect(chooseSuite([])).toEqual(USUAL);
  expect(chooseSuite(["-t", "a title"])).toEqual([...USUAL, "-t", "a title"]);
});

test("a script that names a suite runs that suite", () => {
  expect(chooseSuite(["--suite", "release"])).toEqual(["--project=release"]);
  expect(chooseSuite(["--suite", "faults", "--bail=1"])).toEqual(["--project=faults", "--bail=1"]);
  expect(() => chooseSuite(["--suite", "slow"])).toThrow("No such suite: slow. There are test,");
});

test("a file runs in whatever suite it is", () => {
  const file = "test/package/package.test.ts";
  expect(chooseSuite([file])).toEqual([file]);
  expect(chooseSuite(["--suite", "release", file, "--bail=1"])).toEqual([file, "--bail=1"]);
  expect(chooseSuite(["--project=faults"])).toEqual(["--project=faults"]);
});

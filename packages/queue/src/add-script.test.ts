import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createAddScript } from "./add-script.ts";

const require = createRequire(import.meta.url);

/** A `require` that finds something else where the path has a word. */
function finding(word: string, found: () => unknown): NodeJS.Require {
  const load = (path: string): unknown =>
    path.includes(word) ? found() : (require(path) as unknown);
  return load as NodeJS.Require;
}

test("the script is made of the BullMQ that is installed", () => {
  expect(createAddScript()).toBeDefined();
});

test.each([
  ["another version", finding("package.json", () => ({ version: "6.8.0" }))],
  ["no version", finding("package.json", () => ({}))],
  ["no script", finding("scripts", () => ({}))],
  ["other keys", finding("scripts", () => ({ addStandardJob: { content: "", keys: 10 } }))],
  [
    "no such file",
    finding("scripts", () => {
      throw new Error("Cannot find module");
    }),
  ],
])("no script is made of a BullMQ with %s", (_, load) => {
  expect(createAddScript(load)).toBeUndefined();
});

import { expect, test } from "vitest";
import { createAddScript } from "./redis-add.ts";

test("the script is made of the BullMQ that is installed", () => {
  expect(createAddScript()).toBeDefined();
});

test("another BullMQ than the pinned one is refused, and both versions are named", () => {
  const load = (() => ({ version: "6.8.0" })) as unknown as NodeJS.Require;
  expect(() => createAddScript(load)).toThrow(
    "Cannot use BullMQ 6.8.0: this build adds jobs with the script of BullMQ 6.7.0",
  );
});

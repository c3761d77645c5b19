import { expect, test } from "vitest";
import { bullmqScript, requireKnownBullmq } from "./redis-script.ts";

test("the BullMQ that is installed is the one that is known", () => {
  requireKnownBullmq();
  expect(bullmqScript("moveToFinished").content).toContain("moveToFinished");
});

test("another BullMQ than the pinned one is refused, and both versions are named", () => {
  const load = (() => ({ version: "6.8.0" })) as unknown as NodeJS.Require;
  expect(() => requireKnownBullmq(load)).toThrow(
    "Cannot use BullMQ 6.8.0: this build adds jobs as BullMQ 6.7.0 does",
  );
});

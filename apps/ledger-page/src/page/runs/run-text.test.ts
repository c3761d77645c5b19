import type { BulkRun } from "@millrace/api-contract";
import { expect, test } from "vitest";
import { isOpen, progressText, timeText } from "./run-text.ts";

const run = (change: Partial<BulkRun>) => change as BulkRun;

test("progress names the whole where it was counted", () => {
  expect(progressText(run({ listed: 1, total: 1 }))).toBe("1 of 1 event reached");
  expect(progressText(run({ listed: 2, total: null }))).toMatch(/^2 events reached, of more than/);
});

test("the time of a run follows from its rate", () => {
  expect(timeText(300, 50, false)).toBe("about 6.0 s");
  expect(timeText(100_000, 50, true)).toBe("more than 33 min 20 s");
});

test("a paused run is open, a stopped one is not", () => {
  const states = ["running", "paused", "stopped", "finished", "failed"] as const;
  expect(states.filter((state) => isOpen({ state }))).toEqual(["running", "paused"]);
});

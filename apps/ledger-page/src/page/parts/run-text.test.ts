import type { BulkRun } from "@millrace/api-contract";
import { expect, test } from "vitest";
import { isOpen, progressText, restOf } from "./run-text.ts";

const run = (change: Partial<BulkRun>) => change as BulkRun;

test("progress names the whole where it was counted", () => {
  expect(progressText(run({ listed: 1, total: 1 }))).toBe("1 of 1 event reached");
  expect(progressText(run({ listed: 2, total: null }))).toMatch(/^2 events reached, of more than/);
});

test("a paused run is open, a stopped one is not", () => {
  const states = ["running", "paused", "stopped", "finished", "failed"] as const;
  expect(states.filter((state) => isOpen({ state }))).toEqual(["running", "paused"]);
});

test("a run is asked for again until none of its events is pending, less often where that takes long", () => {
  const settled = { pending: 0 };
  expect(restOf({ state: "running", results: settled }, 20)).toBe(1_000);
  expect(restOf({ state: "running", results: settled }, 1_200)).toBe(12_000);
  expect(restOf({ state: "finished", results: { pending: 1 } }, 20)).toBe(1_000);
  expect(restOf({ state: "finished", results: settled }, 1_200)).toBe(false);
});

import type { BulkRun } from "@millrace/api-contract";
import { expect, test } from "vitest";
import {
  bulkBody,
  confirmation,
  doneOf,
  isOpen,
  lookedAt,
  progressText,
  readRate,
  readTrial,
  restOf,
} from "./bulk.ts";

test("an empty filter has to be meant", () => {
  expect(bulkBody("retry", {})).toEqual({ all: true });
  expect(bulkBody("retry", { status: "failed" })).toEqual({ all: true });
  expect(bulkBody("replay", {})).toEqual({ all: true });
});

test("a run of all events, or of more than 1,000, says how many they are", () => {
  expect(confirmation(bulkBody("replay", {}), 12)).toEqual({ expected: 12 });
  expect(confirmation(bulkBody("replay", { source: "shop" }), 1_000)).toEqual({});
  expect(confirmation(bulkBody("replay", { source: "shop" }), 1_001)).toEqual({ expected: 1_001 });
});

test("a filter goes out as it is; a retry's has no status but pending", () => {
  expect(bulkBody("retry", { status: "pending" })).toEqual({ status: "pending" });
  expect(bulkBody("give_up", { status: "pending" })).toEqual({ all: true });
  expect(bulkBody("retry", { status: "failed", source: "shop" })).toEqual({ source: "shop" });
  expect(bulkBody("replay", { status: "failed" })).toEqual({ status: "failed" });
});

test("a dry run came by what it would do and what it would skip", () => {
  const result = { retried: 3, skipped: { body_missing: 2, unknown_source: 1 } };
  expect(doneOf(result)).toBe(3);
  expect(lookedAt(result)).toBe(6);
  expect(doneOf({ skipped: {} })).toBe(0);
});

test("a canary and a limit are whole numbers, and empty ones are none", () => {
  expect(readTrial("", " ")).toEqual({});
  expect(readTrial("5", "20")).toEqual({ canary: 5, failed_share_max: 0.2 });
  expect([readTrial("x", ""), readTrial("", "101"), readTrial("-1", "")]).toEqual(
    Array(3).fill(undefined),
  );
});

test("a rate is a number that a run can have", () => {
  expect(["50", " 0.5 ", "0.01"].map(readRate)).toEqual([50, 0.5, 0.01]);
  expect(["", " ", "0", "-1", "fast", "1000001", "Infinity"].map(readRate)).toEqual(
    Array.from({ length: 7 }, () => undefined),
  );
});

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

import { expect, test } from "vitest";
import { backoffMs } from "./retry-policy.ts";

const policy = { firstMs: 2_000, factor: 3, maxMs: 3_600_000 };

test("each wait is at most three times the one before, up to an hour", () => {
  const longest = [1, 2, 3, 7, 8, 400, 1_000].map((failures) =>
    backoffMs(policy, failures, () => 1),
  );
  expect(longest).toEqual([2_000, 6_000, 18_000, 1_458_000, 3_600_000, 3_600_000, 3_600_000]);
});

test("twelve attempts are spread over 4.6 hours at the longest", () => {
  const waits = Array.from({ length: 11 }, (_, index) => backoffMs(policy, index + 1, () => 1));
  expect(waits.reduce((sum, wait) => sum + wait, 0) / 3_600_000).toBeCloseTo(4.6, 1);
});

test("the wait is drawn between nothing and the longest", () => {
  expect(backoffMs(policy, 3, () => 0)).toBe(0);
  expect(backoffMs(policy, 3, () => 0.5)).toBe(9_000);
});

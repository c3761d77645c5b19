import { expect, test } from "vitest";
import { barPath, durationTick, durationTopOf, stepPath, ticksOf, topOf } from "./axes.ts";

const at = (time: string) => Date.parse(`2026-11-27T${time}Z`);

test("ticks stand on round times", () => {
  const times = ticksOf(at("20:03:00"), at("21:03:00")).map((ms) => new Date(ms).getMinutes());
  expect(times).toEqual([10, 20, 30, 40, 50, 0]);
  expect(ticksOf(at("00:00:00"), at("00:00:00") + 30 * 86_400_000).length).toBeLessThanOrEqual(7);
});

test.each([
  [0, 1],
  [3, 4],
  [5.5, 6],
  [61, 100],
  [200, 200],
])("the axis of %d ends at %d", (max, top) => {
  expect(topOf(max)).toBe(top);
});

test("durations end in their own unit", () => {
  const tops = [0.4, 730, 61_000, 5_000_000].map(durationTopOf);
  expect(tops.map(durationTick)).toEqual(["1 ms", "1 s", "2 min", "2 h"]);
  expect(durationTick(90_000)).toBe("1.5 min");
});

test("a line is flat over each bucket and has a gap where nothing was measured", () => {
  expect(stepPath([1, 2, null, 4], 4)).toBe("M0 75H1V50H2M3 0H4");
});

test("a bar stands on the one below it", () => {
  expect(barPath([1, 0], [1, 2], 4)).toBe("M0.12 75V50H0.88V75Z");
});

import { expect, test } from "vitest";
import { createLane } from "./lane.ts";
import { until } from "./until.ts";

test("what came first is passed on first, also when the delay ends while it is overdue", async () => {
  let delayMs = 30;
  const passed: string[] = [];
  const lane = createLane(() => delayMs);
  lane(() => passed.push("first"));
  block(60);
  delayMs = 0;
  lane(() => passed.push("second"));
  await until(() => passed.length === 2);
  lane(() => passed.push("third"));
  expect(passed).toEqual(["first", "second", "third"]);
});

/** Holds up this process, and with it every timer. */
function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

import { expect, test } from "vitest";
import { filterOf, runResult, timeText } from "./run-text.ts";

test("a result says what became of the events, and only of those that ran", () => {
  const results = { completed: 12, failed: 3, pending: 0 };
  expect(runResult({ verb: "retry", done: 15, results, errors: 2 })).toBe(
    "15 ran: 12 completed, 3 failed again (2 errors)",
  );
  const pending = { completed: 3_000, failed: 0, pending: 1 };
  expect(runResult({ verb: "replay", done: 3_001, results: pending, errors: 0 })).toBe(
    "3,001 ran: 3,000 completed, 1 still pending",
  );
});

test("events that were given up are no failures of a run", () => {
  const results = { completed: 0, failed: 8_213, pending: 0 };
  expect(runResult({ verb: "give_up", done: 8_213, results, errors: 1 })).toBe("8,213 given up");
});

test("the time of a run follows from its rate", () => {
  expect(timeText(300, 50, false)).toBe("about 6.0 s");
  expect(timeText(100_000, 50, true)).toBe("more than 33 min 20 s");
});

test("a retry is of failed events, or where that is asked for of pending ones that are delayed", () => {
  const failed = { source: "shop", status: "failed", isDelayed: false };
  for (const status of [undefined, "failed", "completed"]) {
    expect(filterOf("retry", { source: "shop", status })).toEqual(failed);
  }
  const pending = { status: "pending" };
  expect(filterOf("retry", pending)).toEqual({ ...pending, isDelayed: true });
  expect(filterOf("give_up", {})).toEqual({ ...pending, isDelayed: false });
  expect(filterOf("replay", pending)).toEqual({ ...pending, isDelayed: false });
});

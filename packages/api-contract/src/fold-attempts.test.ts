import type { Attempt } from "./events.ts";
import { expect, test } from "vitest";
import { foldAttempts } from "./fold-attempts.ts";

const attempt = (number: number, over: Partial<Attempt> = {}): Attempt => ({
  attempt: number,
  started_at: null,
  finished_at: "2026-11-23T02:10:00.000Z",
  code: "handler_failed",
  message: "Error: no",
  counted: true,
  fingerprint: null,
  stack: null,
  log: null,
  log_dropped: null,
  ...over,
});

test("attempts that follow each other and say the same are one; others stay as they are", () => {
  const attempts = [
    attempt(1),
    attempt(2),
    attempt(3, { message: "Error: other" }),
    attempt(4),
    attempt(5, { counted: false }),
    attempt(6, { code: "handler_timeout" }),
  ];
  const folded = foldAttempts(attempts);
  expect(folded.map(({ first, last, all }) => [first.attempt, last.attempt, all.length])).toEqual([
    [1, 2, 2],
    [3, 3, 1],
    [4, 4, 1],
    [5, 5, 1],
    [6, 6, 1],
  ]);
  expect(folded.flatMap(({ all }) => all)).toEqual(attempts);
  expect(foldAttempts([])).toEqual([]);
});

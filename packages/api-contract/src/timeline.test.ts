import { expect, test } from "vitest";
import type { Attempt, EventAct } from "./events.ts";
import { arrangeTimeline, orderTimeline } from "./timeline.ts";

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

const fold = (attempts: readonly Attempt[]) =>
  orderTimeline({ attempt_log: attempts, steps: [], acts: [] }).flatMap((entry) =>
    entry.kind === "attempts" ? entry.attempts : [],
  );

test("attempts that follow each other and say the same are one; others stay as they are", () => {
  const attempts = [
    attempt(1),
    attempt(2),
    attempt(3, { message: "Error: other" }),
    attempt(4),
    attempt(5, { counted: false }),
    attempt(6, { code: "handler_timeout" }),
  ];
  const folded = fold(attempts);
  expect(folded.map(({ first, last, all }) => [first.attempt, last.attempt, all.length])).toEqual([
    [1, 2, 2],
    [3, 3, 1],
    [4, 4, 1],
    [5, 5, 1],
    [6, 6, 1],
  ]);
  expect(folded.flatMap(({ all }) => all)).toEqual(attempts);
  expect(fold([])).toEqual([]);
});

const at = (second: number) => `2026-11-21T11:00:0${second}.000Z`;
const attemptAt = (number: number, second: number) => attempt(number, { finished_at: at(second) });
const act = (action: string, second: number): EventAct => ({
  ...{ at: at(second), action, actor: "ann", via: "cli", reason: null, generation: 0, run: null },
});

/** The order of the items, in short. */
function told(event: Parameters<typeof arrangeTimeline>[0]) {
  const { before, after } = arrangeTimeline(event);
  const words = (entries: typeof before) =>
    entries.map((entry) => {
      if (entry.kind === "act") return entry.act.action;
      if (entry.kind === "step") return entry.step.name;
      return `×${entry.attempts.all.length}`;
    });
  return { before: words(before), after: words(after) };
}

test("acts and steps stand among the attempts, which fold only where nothing came between", () => {
  const steps = [{ at: at(1), name: "charge", attempt: 1 }];
  expect(
    told({
      attempt_log: [attemptAt(1, 2), attemptAt(2, 3), attemptAt(3, 5)],
      ...{ steps, acts: [act("retry", 4)], processed_at: null },
    }),
  ).toEqual({ before: ["charge", "×2", "retry", "×1"], after: [] });
});

test("what was done to a settled event follows its result", () => {
  expect(
    told({
      attempt_log: [attemptAt(1, 2)],
      ...{ steps: [], acts: [act("give_up", 3), act("replay", 6)], processed_at: at(4) },
    }),
  ).toEqual({ before: ["×1", "give_up"], after: ["replay"] });
});

import type { Attempt, EventDetail } from "@millrace/api-contract";
import { expect, test } from "vitest";
import { arrangeTimeline } from "./arrange-timeline.ts";

const at = (second: number) => `2026-11-21T11:00:0${second}.000Z`;
const attempt = (number: number, second: number): Attempt => ({
  ...{ attempt: number, started_at: null, finished_at: at(second), code: "handler_failed" },
  ...{ message: "no", counted: true, fingerprint: null, stack: null, log: null, log_dropped: null },
});
const act = (action: string, second: number): EventDetail["acts"][number] => ({
  ...{ at: at(second), action, actor: "ann", via: "cli", reason: null, generation: 0, run: null },
});

/** The order of the items, in short. */
function told(event: Pick<EventDetail, "attempt_log" | "acts" | "steps" | "processed_at">) {
  const { before, after } = arrangeTimeline(event as EventDetail);
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
      attempt_log: [attempt(1, 2), attempt(2, 3), attempt(3, 5)],
      ...{ steps, acts: [act("retry", 4)], processed_at: null },
    }),
  ).toEqual({ before: ["charge", "×2", "retry", "×1"], after: [] });
});

test("what was done to a settled event follows its result", () => {
  expect(
    told({
      attempt_log: [attempt(1, 2)],
      ...{ steps: [], acts: [act("give_up", 3), act("replay", 6)], processed_at: at(4) },
    }),
  ).toEqual({ before: ["×1", "give_up"], after: ["replay"] });
});

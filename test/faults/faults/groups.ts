import { setTimeout as sleep } from "node:timers/promises";
import type { Failpoint } from "@millrace/core";
import { plainEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { startAgain, strikeAt, thawLate } from "./strike-role.ts";

const STEPS: readonly Failpoint[] = [
  "worker.group_admitted",
  "worker.group_ran",
  "worker.group_commit_sent",
  "worker.group_committed",
];
/** More than the workers handle at once, so that some of them wait. */
const EVENTS = 80;
const PAUSE_MS = 200;
/** By then Postgres has ended the transaction, which may be idle for 9 s, and others have its events. */
const ENDED_MS = 10_500;

/** F27: a worker dies, or is frozen until its locks are gone, while events share a transaction. */
export const strikeGroup: Fault = {
  id: "F27",
  title: "SIGKILL or SIGSTOP of a worker that has a group of first attempts in hand",
  uses: ["worker"],
  applies: ({ groups }) => groups,
  ways: {
    ...Object.fromEntries(
      STEPS.flatMap((step) => [
        [`killed at ${step}`, killAt(step)],
        [`frozen at ${step}`, freezeAt(step)],
      ]),
    ),
    "frozen for long": freezeAt("worker.group_ran", ENDED_MS),
  },
};

function killAt(step: Failpoint): Way {
  return async (context) => {
    const { environment, random } = context;
    const role = random.pick(environment.workers);
    const striking = strikeAt(role, step, "SIGKILL", random.between(0, 3));
    if (!(await withGroups(striking, context))) return;
    environment.strike("F27", `${role.name} killed at ${step}`);
    await startAgain(role);
  };
}

function freezeAt(step: Failpoint, atLeastMs?: number): Way {
  return async (context) => {
    const { environment, random } = context;
    const role = random.pick(environment.workers);
    const striking = strikeAt(role, step, "SIGSTOP", random.between(0, 3));
    if (!(await withGroups(striking, context))) return;
    environment.strike("F27", `${role.name} frozen at ${step}`);
    await thawLate(role, random, atLeastMs);
  };
}

/** Has so many calm events delivered, until the strike has come, that those which wait form groups. */
export async function withGroups(
  striking: Promise<boolean>,
  { burst, random }: Pick<FaultContext, "burst" | "random">,
): Promise<boolean> {
  let isOver = false;
  const over = striking.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const run = random.between(0, 2 ** 31);
    const events = Array.from({ length: EVENTS }, (_, n) =>
      plainEvent(`msg_group_${run}_${n}`, {
        // Sets form on a slow machine, too, where an event alone takes too long for groups.
        type: random.pick(["test.calm", "test.set", "test.set", "test.set"]),
        copies: random.chance(0.2) ? 2 : 1,
      }),
    );
    await burst(...events);
    await Promise.race([over, sleep(PAUSE_MS)]);
  }
  return await over;
}

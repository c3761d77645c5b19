import { setTimeout as sleep } from "node:timers/promises";
import type { Failpoint } from "@millrace/core";
import type { Fault, Way } from "./fault.ts";
import { strikeAt } from "./strike-role.ts";

const STEPS: readonly Failpoint[] = [
  "worker.recorded",
  "worker.handled",
  "worker.committed",
  "worker.before_fail",
];

/** F5: a worker is frozen with events in hand until its locks are gone, and goes on. */
export const freezeWorker: Fault = {
  id: "F5",
  title: "SIGSTOP of a worker for longer than its locks last, then SIGCONT",
  uses: ["worker"],
  ways: Object.fromEntries(STEPS.map((step) => [step, freezeAt(step)])),
};

function freezeAt(step: Failpoint): Way {
  return async ({ stage, random }) => {
    const role = random.pick(stage.workers);
    if (!(await strikeAt(role, step, "SIGSTOP"))) return;
    stage.strike("F5", `${role.name} frozen at ${step}`);
    // Its lock lasts 3 s, and the look for lost jobs comes every second.
    await sleep(random.between(4_500, 7_000));
    role.signal("SIGCONT");
  };
}

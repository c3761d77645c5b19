import { setTimeout as sleep } from "node:timers/promises";
import type { Failpoint } from "@millrace/core";
import { CALLED_TYPE, plainEvent, type PlannedEvent } from "../load/plan.ts";
import type { Fault, Way } from "./fault.ts";
import { countStrikes, killAtEach, reached, strikeAt, thawLate } from "./strike-role.ts";

const KILLED_AT: readonly Failpoint[] = [
  "worker.fetched",
  "worker.recorded",
  "worker.before_call",
  "worker.step_ran",
  "worker.step_recorded",
  "worker.called",
  "worker.handled",
  "worker.commit_sent",
  "worker.committed",
  "worker.before_fail",
  "worker.fail_recorded",
];

/** F3: a worker dies at each step of its way, with events in hand. */
export const killWorker: Fault = {
  id: "F3",
  title: "SIGKILL of a worker at a step of its way",
  uses: ["worker"],
  ways: killAtEach("F3", ({ environment }) => environment.workers, KILLED_AT),
};

const FROZEN_AT: readonly Failpoint[] = [
  "worker.recorded",
  "worker.step_ran",
  "worker.handled",
  "worker.committed",
  "worker.before_fail",
];

/** F5: a worker is frozen with events in hand until its locks are gone, and goes on. */
export const freezeWorker: Fault = {
  id: "F5",
  title: "SIGSTOP of a worker for longer than its locks last, then SIGCONT",
  uses: ["worker"],
  ways: Object.fromEntries(FROZEN_AT.map((step) => [step, freezeAt(step)])),
};

function freezeAt(step: Failpoint): Way {
  return async ({ environment, random }) => {
    const role = random.pick(environment.workers);
    if (!(await strikeAt(role, step, "SIGSTOP"))) return;
    environment.strike("F5", `${role.name} frozen at ${step}`);
    await thawLate(role, random);
  };
}

/** Locks last 3 s, and the look for lost jobs comes every second. */
const BLOCK_MS = 5_000;

/** F6: a handler holds up its whole process for longer than its locks last. */
export const blockWorker: Fault = {
  id: "F6",
  title: "a handler, or its call, that blocks the event loop for longer than the locks last",
  uses: ["worker"],
  ways: {
    block: blockBy({ plan: { blocks: 1, blockMs: BLOCK_MS } }),
    call: blockBy({
      type: CALLED_TYPE,
      plan: { call: { steps: 2, outlives: 1 }, blockMs: BLOCK_MS },
    }),
  },
};

function blockBy(over: Pick<PlannedEvent, "plan"> & Partial<PlannedEvent>): Way {
  return async (context) => {
    const { environment, random, send } = context;
    const blocked = () => countStrikes(context, "handler.blocks");
    const before = blocked();
    send(plainEvent(`msg_block_${random.between(0, 2 ** 31)}`, { copies: 2, ...over }));
    // It is delivered, queued and taken first, with other faults in the way.
    if (!(await reached(() => blocked() > before, 25_000))) return;
    environment.strike("F6", `a worker blocked for ${BLOCK_MS} ms`);
    await sleep(BLOCK_MS);
  };
}

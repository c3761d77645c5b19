import { setTimeout as sleep } from "node:timers/promises";
import type { Failpoint } from "@millrace/core";
import type { RoleKind } from "../environment/role.ts";
import { CALLED_TYPE, plainEvent, type PlannedEvent } from "../load/plan.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { countStrikes, rolesOf, startAgain, strikeAt, thawLate, reached } from "./strike-role.ts";

const MINUTE_MS = 60_000;

export const killIngress: Fault = {
  id: "F1",
  title: "SIGKILL of an ingress at a step of its way",
  uses: ["ingress"],
  ways: eachOf(
    [
      ...(["ingress.verified", "ingress.before_put", "queue.add_sent"] as const),
      ...(["ingress.placed", "ingress.before_answer"] as const),
    ],
    (step) => kill("F1", "ingress", step),
  ),
};

/** F1b: an ingress dies between the ledger, which has an event, and the queue, which has no job of it. */
export const killIngressBehindTheAnswer: Fault = {
  id: "F1b",
  title: "SIGKILL of an ingress between the ledger and the queue",
  uses: ["ingress"],
  applies: ({ backend, ack }) => backend === "postgres" || ack === "ledger",
  ways: eachOf(
    ["ledger.accepted", "ledger.before_enqueue", "ledger.enqueued", "ledger.marked"],
    (step) => kill("F1b", "ingress", step),
  ),
};

export const stopIngress: Fault = {
  id: "F2",
  title: "SIGTERM of an ingress under load",
  uses: ["ingress"],
  ways: {
    sigterm: async ({ environment, random }) => {
      const role = random.pick(environment.ingresses);
      const code = await role.end("SIGTERM");
      if (code !== 0) throw new Error(`${role.name} exited with ${code} on SIGTERM`);
      environment.strike("F2", `${role.name} stopped`);
      await role.start();
    },
  },
};

export const killWorker: Fault = {
  id: "F3",
  title: "SIGKILL of a worker at a step of its way",
  uses: ["worker"],
  ways: eachOf(
    [
      ...(["worker.fetched", "worker.recorded", "worker.before_call", "worker.step_ran"] as const),
      ...(["worker.step_recorded", "worker.called", "worker.handled"] as const),
      ...(["worker.commit_sent", "worker.committed"] as const),
      ...(["worker.before_fail", "worker.fail_recorded"] as const),
    ],
    (step) => kill("F3", "worker", step),
  ),
};

export const freezeWorker: Fault = {
  id: "F5",
  title: "SIGSTOP of a worker for longer than its locks last, then SIGCONT",
  uses: ["worker"],
  ways: eachOf(
    [
      ...(["worker.recorded", "worker.step_ran", "worker.handled"] as const),
      ...(["worker.committed", "worker.before_fail"] as const),
    ],
    (step) => freeze("F5", step),
  ),
};

const BLOCK_MS = 5_000;

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
    const before = countStrikes(context, "handler.blocks");
    send(plainEvent(`msg_block_${random.between(0, 2 ** 31)}`, { copies: 2, ...over }));
    const blocked = () => countStrikes(context, "handler.blocks") > before;
    if (!(await reached(blocked, 25_000))) return;
    environment.strike("F6", `a worker blocked for ${BLOCK_MS} ms`);
    await sleep(BLOCK_MS);
  };
}

/** F19: a process's clock jumps and jumps back. */
export const skewClock: Fault = {
  id: "F19",
  title: "the clock of a worker or an ingress off by minutes",
  uses: ["worker"],
  // BullMQ's locks on Postgres go by the workers' clocks, which must agree within seconds.
  applies: ({ backend }) => backend === "redis",
  ways: { worker: skew("worker", [-10, 0.2]), ingress: skew("ingress", [-4, 4]) },
};

function skew(kind: RoleKind, minutes: readonly number[]): Way {
  return async ({ environment, random }) => {
    const role = random.pick(rolesOf(environment, kind));
    role.skew(random.pick(minutes) * MINUTE_MS);
    environment.strike("F19", `${role.name}'s clock is off`);
    await sleep(random.between(2_000, 6_000));
    role.skew(0);
  };
}

const GROUP_STEPS = [
  ...(["worker.group_admitted", "worker.group_ran"] as const),
  ...(["worker.group_commit_sent", "worker.group_committed"] as const),
];
const EVENTS = 80;
const PAUSE_MS = 200;
const ENDED_MS = 10_500;

export const strikeGroup: Fault = {
  id: "F27",
  title: "SIGKILL or SIGSTOP of a worker that has a group of first attempts in hand",
  uses: ["worker"],
  applies: ({ groups }) => groups,
  ways: Object.fromEntries([
    ...GROUP_STEPS.map((step) => [`killed at ${step}`, kill("F27", "worker", step, withGroups)]),
    ...GROUP_STEPS.map((step) => [`frozen at ${step}`, freeze("F27", step, withGroups)]),
    ["frozen for long", freeze("F27", "worker.group_ran", withGroups, ENDED_MS)],
  ]),
};

async function withGroups(
  striking: Promise<boolean>,
  { burst, random }: FaultContext,
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

function eachOf(steps: readonly Failpoint[], wayOf: (step: Failpoint) => Way): Fault["ways"] {
  return Object.fromEntries(steps.map((step) => [step, wayOf(step)]));
}

type Provoke = (striking: Promise<boolean>, context: FaultContext) => Promise<boolean>;

function kill(fault: string, kind: RoleKind, step: Failpoint, provoke: Provoke = wait): Way {
  return async (context) => {
    const { environment, random } = context;
    const role = random.pick(rolesOf(environment, kind));
    const striking = strikeAt(role, step, "SIGKILL", random.between(0, 3));
    if (!(await provoke(striking, context))) return;
    environment.strike(fault, `${role.name} killed at ${step}`);
    await startAgain(role);
  };
}

function freeze(fault: string, step: Failpoint, provoke: Provoke = wait, atLeastMs?: number): Way {
  return async (context) => {
    const { environment, random } = context;
    const role = random.pick(environment.workers);
    if (!(await provoke(strikeAt(role, step, "SIGSTOP"), context))) return;
    environment.strike(fault, `${role.name} frozen at ${step}`);
    await thawLate(role, random, atLeastMs);
  };
}

function wait(striking: Promise<boolean>): Promise<boolean> {
  return striking;
}

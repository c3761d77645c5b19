import type { Failpoint } from "@millrace/core";
import type { Fault } from "./fault.ts";
import { killAtEach } from "./strike-role.ts";

const STEPS: readonly Failpoint[] = [
  "ingress.verified",
  "ingress.before_put",
  "queue.add_sent",
  "ingress.placed",
  "ingress.before_answer",
];

/** F1: an ingress dies at each step of its way, with deliveries in hand. */
export const killIngress: Fault = {
  id: "F1",
  title: "SIGKILL of an ingress at a step of its way",
  uses: ["ingress"],
  ways: killAtEach("F1", ({ environment }) => environment.ingresses, STEPS),
};

const BEHIND_THE_ANSWER: readonly Failpoint[] = [
  "ledger.accepted",
  "ledger.before_enqueue",
  "ledger.enqueued",
  "ledger.marked",
];

/** F1b: an ingress dies between the ledger, which has an event, and the queue, which has no job of it. */
export const killIngressBehindTheAnswer: Fault = {
  id: "F1b",
  title: "SIGKILL of an ingress between the ledger and the queue",
  uses: ["ingress"],
  applies: ({ backend, ack }) => backend === "postgres" || ack === "ledger",
  ways: killAtEach("F1b", ({ environment }) => environment.ingresses, BEHIND_THE_ANSWER),
};

/** F2: an ingress is stopped under load, as a deploy does, and comes back. */
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

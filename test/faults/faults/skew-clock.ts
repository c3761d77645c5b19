import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault.ts";

const MINUTE_MS = 60_000;

/**
 * F19: a process's clock jumps and jumps back. An ingress stays within the senders' tolerance. A worker
 * is not far ahead: what it puts off is put off by its own clock, and would come as much later.
 */
export const skewClock: Fault = {
  id: "F19",
  title: "the clock of a worker or an ingress off by minutes",
  uses: ["worker"],
  // BullMQ's locks on Postgres go by the workers' clocks, which must agree within seconds.
  applies: ({ backend }) => backend === "redis",
  ways: {
    worker: async ({ environment, random }) => {
      const role = random.pick(environment.workers);
      role.skew(random.pick([-10, 0.2]) * MINUTE_MS);
      environment.strike("F19", `${role.name}'s clock is off`);
      await sleep(random.between(2_000, 6_000));
      role.skew(0);
    },
    ingress: async ({ environment, random }) => {
      const role = random.pick(environment.ingresses);
      role.skew(random.pick([-4, 4]) * MINUTE_MS);
      environment.strike("F19", `${role.name}'s clock is off`);
      await sleep(random.between(2_000, 6_000));
      role.skew(0);
    },
  },
};

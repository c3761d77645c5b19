import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault.ts";

/** F33: the PgBouncer between the roles and Postgres dies under load, and comes back. */
export const restartPooler: Fault = {
  id: "F33",
  title: "PgBouncer, which pools transactions, killed and restarted",
  uses: ["postgres"],
  setUp: "pooled",
  ways: {
    killed: async ({ environment, random }) => {
      const { pooler } = environment.servers;
      await pooler?.kill();
      environment.strike("F33", "PgBouncer killed");
      await sleep(random.between(0, 3_000));
      await pooler?.restart();
    },
    // Without a moment in which nobody listens.
    "cut at once": async ({ environment }) => {
      await environment.servers.pooler?.restart();
      environment.strike("F33", "PgBouncer restarted");
    },
  },
};

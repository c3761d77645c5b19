import { setTimeout as sleep } from "node:timers/promises";
import { breakWays } from "./break-ways.ts";
import type { Fault } from "./fault.ts";

/** F12: Redis is there and does not answer, or late, or its connections are cut or lead nowhere. */
export const hangRedis: Fault = {
  id: "F12",
  title: "Redis hung, slow, cut or half-open",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    frozen: async ({ stage, random }) => {
      stage.ground.redis?.server.freeze();
      stage.strike("F12", "Redis frozen");
      await sleep(random.between(1_000, 6_000));
      stage.ground.redis?.server.thaw();
    },
    ...breakWays("F12", "Redis", ({ ground }) => ground.redis?.to),
  },
};

import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "./fault.ts";

/** F7: Redis dies and comes back with its AOF (everysec). */
export const killRedis: Fault = {
  id: "F7",
  title: "SIGKILL and restart of Redis",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    kill: async ({ stage, random }) => {
      await stage.ground.redis?.server.kill();
      stage.strike("F7", "Redis killed");
      await sleep(random.between(0, 4_000));
      await stage.ground.restartRedis();
    },
  },
};

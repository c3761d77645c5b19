import { setTimeout as sleep } from "node:timers/promises";
import { withRedis } from "../check/queue-dump.ts";
import type { Fault } from "./fault.ts";

/** F11: Redis has no memory left and evicts nothing; later it has. */
export const fillRedis: Fault = {
  id: "F11",
  title: "Redis at its maxmemory",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    full: async ({ stage, random }) => {
      const { redis } = stage.ground;
      if (redis === undefined) return;
      await withRedis(redis.server.url, async (client) => {
        await client.config("SET", "maxmemory", "1mb");
        stage.strike("F11", "maxmemory 1 MB");
        await sleep(random.between(1_500, 5_000));
        await client.config("SET", "maxmemory", "0");
      });
    },
  },
};

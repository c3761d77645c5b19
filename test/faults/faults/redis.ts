import { setTimeout as sleep } from "node:timers/promises";
import { withRedis } from "../../support/redis-client.ts";
import { breakNetwork } from "./break-network.ts";
import type { Fault } from "./fault.ts";

/** F7: Redis dies and comes back with its AOF (everysec). */
export const killRedis: Fault = {
  id: "F7",
  title: "SIGKILL and restart of Redis",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    kill: async ({ environment, random }) => {
      await environment.servers.redis?.server.kill();
      environment.strike("F7", "Redis killed");
      await sleep(random.between(0, 4_000));
      await environment.servers.restartRedis();
    },
  },
};

/** F11: Redis has no memory left and evicts nothing; later it has. */
export const fillRedis: Fault = {
  id: "F11",
  title: "Redis at its maxmemory",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    full: async ({ environment, random }) => {
      await withRedis(String(environment.urls.redisUrl), async (client) => {
        await client.config("SET", "maxmemory", "1mb");
        environment.strike("F11", "maxmemory 1 MB");
        await sleep(random.between(1_500, 5_000));
        await client.config("SET", "maxmemory", "0");
      });
    },
  },
};

/** F12: Redis is there and does not answer, or late, or its connections are cut or lead nowhere. */
export const hangRedis: Fault = {
  id: "F12",
  title: "Redis hung, slow, cut or half-open",
  uses: ["redis"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    frozen: async ({ environment, random }) => {
      environment.servers.redis?.server.freeze();
      environment.strike("F12", "Redis frozen");
      await sleep(random.between(1_000, 6_000));
      environment.servers.redis?.server.thaw();
    },
    ...breakNetwork("F12", "Redis", ({ servers }) => servers.redis?.to),
  },
};

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Redis } from "ioredis";
import { untilReplicating, withRedis } from "../../support/redis-client.ts";
import { startRedis, type TestRedis } from "../../support/redis-server.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { until } from "../../support/until.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import { breakNetwork } from "./break-network.ts";
import { readRedisJobs } from "./empty-queue.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";

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

/** F29: Redis dies, and a replica takes its place, with what it has: all, or not the last second. */
export const failOverRedis: Fault = {
  id: "F29",
  title: "failover of Redis to a replica, in step or behind",
  uses: ["redis", "postgres"],
  applies: ({ backend }) => backend === "redis",
  ways: { "in step": failOver(0), behind: failOver(1_000) },
};

export const restoreRedis: Fault = {
  id: "F30",
  title: "Redis restored from an older copy of its files",
  uses: ["redis", "postgres"],
  applies: ({ backend }) => backend === "redis",
  ways: {
    older: async (context) => {
      const server = redisOf(context.environment);
      const copy = await mkdtemp(join(tmpdir(), "millrace-copy-"));
      try {
        await copyAof(server.folder, copy);
        await sleep(context.random.between(1_000, 4_000));
        await replace(context, "F30", { folder: copy });
      } finally {
        await rm(copy, { recursive: true, force: true });
      }
    },
  },
};

function failOver(lagMs: number): Way {
  return async (context) => {
    const link = await startTcpProxy(redisOf(context.environment).url);
    const args = ["--appendfsync", "always", "--replicaof", "127.0.0.1", String(link.port)];
    const replica = await startRedis({ args });
    try {
      await untilReplicating(replica.url);
      link.lag(lagMs);
      await sleep(context.random.between(1_000, 3_000));
      await replace(context, "F29", {
        folder: replica.folder,
        before: async (primary) => {
          if (lagMs === 0) await until(async () => isInStep(await primary.info("replication")));
          link.refuse();
          await replica.kill();
        },
        losesNothing: lagMs === 0,
      });
    } finally {
      await replica.stop();
      await link.close();
    }
  };
}

function isInStep(replication: string): boolean {
  const [, ours] = /master_repl_offset:(\d+)/.exec(replication) ?? [];
  return ours !== undefined && replication.includes(`state=online,offset=${ours},`);
}

interface Replacement {
  readonly folder: string;
  readonly before?: (primary: Redis) => Promise<void>;
  readonly losesNothing?: boolean;
}

async function replace(
  { environment }: FaultContext,
  fault: string,
  { folder, before, losesNothing }: Replacement,
): Promise<void> {
  const server = redisOf(environment);
  const had = await withRedis(server.url, async (client) => {
    await client.call("CLIENT", "PAUSE", "60000", "WRITE");
    await before?.(client);
    return await readRedisJobs(client);
  });
  await server.kill();
  await rm(join(server.folder, "appendonlydir"), { recursive: true, force: true });
  await copyAof(folder, server.folder);
  await environment.servers.restartRedis();
  const has = await withRedis(server.url, readRedisJobs);
  let lost = 0;
  for (const [key, job] of had) {
    environment.emptied.add(key);
    if (has.has(key) || job.body === undefined) continue;
    environment.excused.add(key);
    lost += 1;
  }
  for (const key of has.keys()) environment.emptied.add(key);
  if (losesNothing === true && lost > 0) throw new Error(`Cannot lose ${lost} bodies: in step`);
  environment.strike(
    fault,
    `Redis came back with ${has.size} jobs; ${lost} bodies of ${had.size} jobs are gone`,
  );
}

function copyAof(from: string, to: string): Promise<void> {
  return cp(join(from, "appendonlydir"), join(to, "appendonlydir"), { recursive: true });
}

function redisOf({ servers }: FaultEnvironment): TestRedis {
  if (servers.redis === undefined) throw new Error("Cannot strike Redis: there is none");
  return servers.redis.server;
}

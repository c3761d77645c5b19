import { setTimeout as sleep } from "node:timers/promises";
import { metricByLabels } from "../../support/metrics.ts";
import { withRedis } from "../../support/redis-client.ts";
import { until } from "../../support/until.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import { keyOf } from "../load/client-log.ts";
import { readJobs } from "./empty-queue.ts";
import type { Fault, FaultContext, Way } from "./fault.ts";
import { readEvents } from "./postgres.ts";

/**
 * F34: the primary dies, and Sentinel makes its replica the primary; later the old one is back as a replica. An event is
 * acknowledged when a replica has it, or the ledger (`queue.replicas: 1`): nothing may be lost, and nothing is excused.
 */
export const failOverBySentinel: Fault = {
  id: "F34",
  title: "failover of Redis by Sentinel, in step or behind",
  uses: ["redis", "postgres"],
  setUp: "sentinel",
  applies: ({ backend }) => backend === "redis",
  ways: { "in step": failOver(0), behind: failOver(1_000) },
};

function failOver(lagMs: number): Way {
  return async ({ environment, random, log }) => {
    const { sentinels, redis } = environment.servers;
    if (sentinels === undefined) throw new Error("Cannot fail over: there is no Sentinel");
    sentinels.lag(lagMs);
    await sleep(random.between(1_000, 3_000));
    const beganMs = performance.now();
    await sentinels.failOver();
    const tookMs = Math.round(performance.now() - beganMs);
    redis?.to.account.retarget(sentinels.urlOf(await sentinels.primary()));
    environment.strike("F34", `Sentinel failed over in ${tookMs} ms, ${lagMs} ms behind`);
    await sleep(random.between(0, 3_000));
    await sentinels.bringBack();
    // Which attempts had begun, only the jobs knew.
    for (const key of log.accounts.keys()) environment.emptied.add(key);
  };
}

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

const CALM_MS = 90_000;

/** F35: an fsync of the append-only file takes 800 ms, and Redis alone is killed. */
export const killRedisOnSlowDisk: Fault = {
  id: "F35",
  title: "Redis killed while its disk takes 800 ms for an fsync",
  uses: ["redis", "postgres"],
  setUp: "slow disk",
  applies: ({ backend }) => backend === "redis",
  ways: {
    seen: killWhen(async ({ environment, random }) => {
      await until(async () => (await slowDisks(environment)) === environment.ingresses.length, {
        what: "every ingress report a slow disk",
      });
      const seenMs = performance.now();
      await sleep(random.between(0, 3_000));
      return seenMs;
    }),
    unseen: killWhen(async ({ environment }) => {
      await until(() => holdsWritesBack(environment), { what: "Redis hold writes back" });
      return performance.now();
    }),
  },
};

/** @param wait - Returns when Redis is to be killed, with the time before which a delivery had to begin to be lost. */
function killWhen(wait: (context: FaultContext) => Promise<number>): Way {
  return async (context) => {
    const { environment, log } = context;
    const { disk, redis } = environment.servers;
    if (disk === undefined || redis === undefined) throw new Error("Cannot slow a disk: none");
    // The ledger takes the events as long as the disk counts as slow: the next strike would find nothing at risk.
    await until(async () => (await slowDisks(environment)) === 0, { withinMs: CALM_MS });
    disk.slowDown();
    const exposedMs = await wait(context);
    await redis.server.kill();
    disk.speedUp();
    await environment.servers.restartRedis();
    const jobs = await readJobs(environment);
    const ledger = await readEvents(environment.urls.databaseUrl);
    const exposed = new Set(
      log.times.filter(({ startedMs }) => startedMs < exposedMs).map(({ event }) => keyOf(event)),
    );
    const lost = [...exposed].filter(
      (key) => isAcknowledged(context, key) && !jobs.has(key) && !ledger.has(key),
    );
    if (environment.ack === "queue") for (const key of lost) environment.excused.add(key);
    // Which attempts had begun, only the jobs knew.
    for (const key of log.accounts.keys()) environment.emptied.add(key);
    const jobless = [...ledger].filter(([key, status]) => status === "pending" && !jobs.has(key));
    environment.strike(
      "F35",
      `Redis killed on its slow disk; ${lost.length} events gone, and ${jobless.length} jobs of pending ones`,
    );
  };
}

function isAcknowledged({ log }: FaultContext, key: string): boolean {
  return (log.accounts.get(key)?.acknowledged ?? 0) > 0;
}

async function holdsWritesBack({ servers }: FaultEnvironment): Promise<boolean> {
  const info = await withRedis(String(servers.redis?.server.url), (client) =>
    client.info("persistence"),
  );
  const isPending = info.includes("aof_pending_bio_fsync:1");
  return isPending && !info.includes("aof_buffer_length:0");
}

async function slowDisks({ ingresses }: FaultEnvironment): Promise<number> {
  const risks = await Promise.all(
    ingresses.map(({ url }) => metricByLabels(url, "millrace_ingress_queue_at_risk")),
  );
  return risks.filter((risk) => risk.get('reason="redis_disk_slow"') === 1).length;
}

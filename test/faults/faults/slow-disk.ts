import { setTimeout as sleep } from "node:timers/promises";
import { metricByLabels } from "../../support/metrics.ts";
import { until } from "../../support/until.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import { keyOf } from "../load/client-log.ts";
import { readJobs } from "./empty-queue.ts";
import type { Fault } from "./fault.ts";

/** An ingress reports a slow disk for 30 s after the last slow fsync. */
const CALM_MS = 90_000;

/**
 * F35: an fsync of the append-only file takes 800 ms, and then Redis alone is killed. Under `ack: "queue"` an event may be
 * lost whose delivery began before every ingress had found the disk slow. Nothing else may.
 */
export const killRedisOnSlowDisk: Fault = {
  id: "F35",
  title: "Redis killed while its disk takes 800 ms for an fsync",
  // While one store is down only the other one has its events: then this is no single fault.
  uses: ["redis", "postgres"],
  setUp: "slow disk",
  applies: ({ backend }) => backend === "redis",
  ways: {
    killed: async ({ environment, random, log }) => {
      const { disk, redis } = environment.servers;
      if (disk === undefined || redis === undefined) throw new Error("Cannot slow a disk: none");
      // The ledger takes the events as long as the disk counts as slow: the next strike would find nothing at risk.
      await until(async () => (await slowDisks(environment)) === 0, { withinMs: CALM_MS });
      const beganMs = performance.now();
      disk.slowDown();
      await until(async () => (await slowDisks(environment)) === environment.ingresses.length, {
        what: "every ingress report a slow disk",
      });
      const seenMs = performance.now();
      await sleep(random.between(1_000, 4_000));
      await redis.server.kill();
      disk.speedUp();
      await environment.servers.restartRedis();
      const jobs = await readJobs(environment);
      const recorded = await readRecorded(environment);
      const exposed = new Set(
        log.times.filter(({ startedMs }) => startedMs < seenMs).map(({ event }) => keyOf(event)),
      );
      const lost = [...exposed].filter(
        (key) =>
          (log.accounts.get(key)?.acknowledged ?? 0) > 0 && !jobs.has(key) && !recorded.has(key),
      );
      if (environment.ack === "queue") for (const key of lost) environment.excused.add(key);
      // Which attempts had begun, only the jobs knew.
      for (const key of log.accounts.keys()) environment.emptied.add(key);
      environment.strike(
        "F35",
        `Redis killed; its slow disk was seen after ${Math.round(seenMs - beganMs)} ms; ` +
          `${lost.length} events that it had confirmed before are gone`,
      );
    },
  },
};

/** How many ingresses that are up report a slow disk. */
async function slowDisks({ ingresses }: FaultEnvironment): Promise<number> {
  const risks = await Promise.all(
    ingresses.map(({ url }) => metricByLabels(url, "millrace_ingress_queue_at_risk")),
  );
  return risks.filter((risk) => risk.get('reason="redis_disk_slow"') === 1).length;
}

async function readRecorded({ database }: FaultEnvironment): Promise<Set<string>> {
  const { rows } = await database.query<{ source: string; id: string }>(
    "select source, event_id as id from millrace.events where generation = 0",
  );
  return new Set(rows.map(keyOf));
}

import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, Way } from "./fault.ts";

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
    // Without any replica for a while.
    await sleep(random.between(0, 3_000));
    await sentinels.bringBack();
    // Which attempts had begun, only the jobs knew.
    for (const key of log.accounts.keys()) environment.emptied.add(key);
  };
}

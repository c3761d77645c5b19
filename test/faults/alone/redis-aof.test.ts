import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { loseRedis } from "../faults/empty-queue.ts";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests } from "../start-fault-test.ts";
import { openEnvironment, type FaultEnvironment } from "../environment/environment.ts";

const WITHOUT_AOF = ["--appendonly", "no"];
const UNFIT: readonly (readonly [string, readonly string[]])[] = [
  ["no AOF", WITHOUT_AOF],
  ["keys that may be evicted", ["--maxmemory-policy", "allkeys-lru"]],
];

describeOnRedis("F7 what Redis keeps on disk", () => {
  const startFaultTest = useFaultTests();
  let bare: FaultEnvironment | undefined;
  afterEach(async () => {
    await bare?.end();
    bare = undefined;
  });

  test("no AOF: a Redis that comes back empty costs nothing that the ledger took first", async () => {
    const env = { MILLRACE_REDIS_VOLATILE: "1" };
    const options = { backend: "redis", ack: "ledger", env, redisArgs: WITHOUT_AOF } as const;
    const faultTest = await startFaultTest(options, { rate: 20 });
    const { environment, log, send, settled, expectInvariants } = faultTest;
    // Its next attempt waits in the queue when that goes.
    send(plainEvent("msg_waiting_1", { plan: { fails: 6 } }));
    await settled("msg_waiting_1", "pending");
    await until(() => log.acknowledged > 40);
    expect(await loseRedis(environment)).toBeGreaterThan(0);
    await environment.servers.restartRedis();
    await expectInvariants();
  });

  test.each(UNFIT)(
    "%s: ingress and worker refuse to start, and say what repairs it",
    async (_title, redisArgs) => {
      const nobody = { ingresses: 0, workers: 0 };
      bare = await openEnvironment({ backend: "redis", ack: "queue", ...nobody, redisArgs });
      for (const role of [bare.addRole("ingress"), bare.addRole("worker")]) {
        // One that Redis keeps waiting may listen before it knows.
        await role.start().catch(() => {});
        await until(() => !role.up && role.unexpected.length > 0);
        expect(role.unexpected).toEqual([`${role.name} exited by itself with 1`]);
        const file = join(bare.folder, `${role.name}.log`);
        await until(async () => (await readFile(file, "utf8")).includes("CONFIG SET"));
      }
    },
  );

  test("AOF always: kill upon kill, nothing that was acknowledged is lost", async () => {
    const redisArgs = ["--appendfsync", "always"];
    const options = { backend: "redis", ack: "queue", redisArgs } as const;
    const { environment, log, expectInvariants } = await startFaultTest(options);
    for (let kill = 0; kill < 5; kill += 1) {
      const before = log.acknowledged;
      await until(() => log.acknowledged > before + 60);
      await environment.servers.redis?.server.kill();
      await environment.servers.restartRedis();
    }
    await expectInvariants();
  });
});

import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { loseRedis } from "../faults/empty-queue.ts";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests } from "../start-fault-test.ts";

describeOnRedis("F7 what Redis keeps on disk", () => {
  const startFaultTest = useFaultTests();

  test("no AOF: a Redis that comes back empty costs nothing that the ledger took first", async () => {
    const env = { MILLRACE_REDIS_VOLATILE: "1" };
    const redisArgs = ["--appendonly", "no"];
    const options = { backend: "redis", ack: "ledger", env, redisArgs } as const;
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

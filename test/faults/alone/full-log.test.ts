import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests } from "../start-fault-test.ts";

/** A file on which every write ends with ENOSPC; Linux has it. */
const FULL = "/dev/full";

describeOnRedis("F26 the disk of the logs is full", () => {
  const startFaultTest = useFaultTests();

  test.skipIf(!existsSync(FULL))(
    "an ingress and a worker that cannot write their logs go on, and end on SIGTERM (needs /dev/full)",
    { timeout: 120_000 },
    async () => {
      const { environment, log, send, settled, expectInvariants } = await startFaultTest({
        backend: "redis",
        ack: "queue",
        ingresses: 0,
        workers: 0,
      });
      const ingress = environment.addRole("ingress", { outputTo: FULL });
      const worker = environment.addRole("worker", { outputTo: FULL });
      await Promise.all([ingress.start(), worker.start()]);
      // Each of these is a line of the log, or would be.
      send(plainEvent("msg_forged_1", { forged: true }));
      send(plainEvent("msg_failing_1", { plan: { fails: 2 } }));
      await settled("msg_failing_1", "completed");
      const before = log.acknowledged;
      await until(() => log.acknowledged > before + 40);
      await expectInvariants();
      expect(await Promise.all([ingress.end("SIGTERM"), worker.end("SIGTERM")])).toEqual([0, 0]);
    },
  );
});

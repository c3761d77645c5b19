import { test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { countOthers } from "../check/isolation.ts";
import { inject } from "../faults/inject.ts";
import { poison } from "../faults/poison.ts";
import { useFaultTests } from "../start-fault-test.ts";

/** Events of the quiet stretch, to measure the other one by. */
const QUIET = 30;
const PATIENCE = { withinMs: 180_000 };
/** Longer than the bound, so that whoever waits for a handler that hangs is too late. */
const HANDLER_TIMEOUT_MS = 45_000;

describeOnRedis("poison on a test environment of its own", () => {
  const startFaultTest = useFaultTests();

  test(
    "F21 a flood that hangs, and events that fail, kill, are huge or no event, hold up nobody else",
    { timeout: 600_000 },
    async () => {
      const fromMs = Date.now();
      const faultTest = await startFaultTest(
        {
          ...{ backend: "redis", ack: "queue" },
          env: { FAULTS_HANDLER_TIMEOUT_MS: String(HANDLER_TIMEOUT_MS) },
          say: (line) => void process.stdout.write(`${line}\n`),
        },
        { rate: 25 },
      );
      await until(async () => (await countOthers(faultTest, fromMs)) >= QUIET, PATIENCE);
      const struckMs = Date.now();
      for (const way of ["fails", "huge", "dies"]) await poison.ways[way]?.(faultTest);
      await inject.ways["no envelope"]?.(faultTest);
      await poison.ways["floods"]?.(faultTest);
      await until(async () => (await countOthers(faultTest, struckMs)) >= QUIET, PATIENCE);
      const stretches = {
        quiet: { fromMs, toMs: struckMs },
        struck: { fromMs: struckMs, toMs: Date.now() },
      };
      await faultTest.expectInvariants({ stretches });
    },
  );
});

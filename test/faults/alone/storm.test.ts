import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { countOthers } from "../check/isolation.ts";
import { storm } from "../faults/storm.ts";
import { useFaultTests } from "../start-fault-test.ts";

/** Events of the quiet stretch, to measure the other one by. */
const QUIET = 30;
const PATIENCE = { withinMs: 300_000 };

describeOnRedis("storms of duplicates on a test environment of their own", () => {
  const startFaultTest = useFaultTests();

  test.for(["5000", "10000x20"])(
    "F20 %s deliveries over four ingresses run once each and hold up nobody else",
    { timeout: 1_800_000 },
    async (way) => {
      const fromMs = Date.now();
      const faultTest = await startFaultTest(
        {
          ...{ backend: "redis", ack: "queue", ingresses: 4 },
          say: (line) => void process.stdout.write(`${line}\n`),
        },
        { rate: 25 },
      );
      const { environment } = faultTest;
      await until(async () => (await countOthers(faultTest, fromMs)) >= QUIET, PATIENCE);
      const struckMs = Date.now();
      await storm.longWays?.[way]?.(faultTest);
      expect(environment.struck.get("F20")).toBe(1);
      await until(async () => (await countOthers(faultTest, struckMs)) >= QUIET, PATIENCE);
      const stretches = {
        quiet: { fromMs, toMs: struckMs },
        struck: { fromMs: struckMs, toMs: Date.now() },
      };
      await faultTest.expectInvariants({ stretches });
    },
  );
});

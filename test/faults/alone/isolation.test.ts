import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { countOthers } from "../check/timing.ts";
import type { EnvironmentOptions } from "../environment/environment.ts";
import { poison, storm } from "../faults/events.ts";
import { inject } from "../faults/people.ts";
import { type FaultTest, useFaultTests } from "../start-fault-test.ts";

const ALL = process.env["FAULTS"] === "all";
const QUIET = 30;
const HANDLER_TIMEOUT_MS = 45_000;

describeOnRedis("a fault that must hold up nobody else, on a test environment of its own", () => {
  const startFaultTest = useFaultTests();

  async function expectIsolation(
    options: Partial<EnvironmentOptions>,
    strike: (faultTest: FaultTest) => Promise<void>,
    withinMs: number,
  ): Promise<void> {
    const fromMs = Date.now();
    const say = (line: string) => void process.stdout.write(`${line}\n`);
    const faultTest = await startFaultTest(
      { backend: "redis", ack: "queue", say, ...options },
      { rate: 25 },
    );
    await until(async () => (await countOthers(faultTest, fromMs)) >= QUIET, { withinMs });
    const struckMs = Date.now();
    await strike(faultTest);
    await until(async () => (await countOthers(faultTest, struckMs)) >= QUIET, { withinMs });
    const stretches = {
      quiet: { fromMs, toMs: struckMs },
      struck: { fromMs: struckMs, toMs: Date.now() },
    };
    await faultTest.expectInvariants({ stretches });
  }

  test("F21 a flood that hangs, and events that fail, kill, are huge or no event, hold up nobody else", async () => {
    const env = { FAULTS_HANDLER_TIMEOUT_MS: String(HANDLER_TIMEOUT_MS) };
    const strike = async (faultTest: FaultTest) => {
      for (const way of ["fails", "huge", "dies"]) await poison.ways[way]?.(faultTest);
      await inject.ways["no envelope"]?.(faultTest);
      await poison.ways["floods"]?.(faultTest);
    };
    await expectIsolation({ env }, strike, 180_000);
  }, 600_000);

  test.runIf(ALL).for(["5000", "10000x20"])(
    "F20 %s deliveries over four ingresses run once each and hold up nobody else (needs FAULTS=all)",
    { timeout: 1_800_000 },
    async (way) => {
      const strike = async (faultTest: FaultTest) => {
        await storm.longWays?.[way]?.(faultTest);
        expect(faultTest.environment.struck.get("F20")).toBe(1);
      };
      await expectIsolation({ ingresses: 4 }, strike, 300_000);
    },
  );
});

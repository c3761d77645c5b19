import { expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { drain } from "../load/load.ts";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests, type FaultTest } from "../start-fault-test.ts";
import type { Role } from "../environment/role.ts";

const EVENTS = 4_000;
const BYTES_AN_EVENT = 300;
const FAILS_EVERY = 10;

describeOnRedis("what processes hold on to", () => {
  const startFaultTest = useFaultTests();

  test("I10 the heap does not grow with the events that came and went", async () => {
    const faultTest = await startFaultTest(
      {
        ...{ backend: "redis", ack: "queue", ingresses: 1, workers: 1 },
        // What is measured is memory, so nothing waits for the disk.
        postgresSettings: { fsync: "off", synchronous_commit: "off" },
      },
      { rate: 1 },
    );
    const { environment } = faultTest;
    await passThrough(faultTest, 1);
    const before = await heaps(environment.roles);
    await passThrough(faultTest, 2);
    const after = await until(
      async () => {
        const now = await heaps(environment.roles);
        return now.every((bytes, n) => bytes - (before[n] ?? 0) < EVENTS * BYTES_AN_EVENT) && now;
      },
      { withinMs: 20_000 },
    ).catch(() => heaps(environment.roles));
    const grown = after.map((bytes, n) => Math.round((bytes - (before[n] ?? 0)) / EVENTS));
    process.stdout.write(`grown by ${grown.join(" and ")} bytes an event\n`);
    for (const bytes of grown) expect(bytes).toBeLessThan(BYTES_AN_EVENT);
    await faultTest.expectInvariants();
  }, 1_800_000);
});

async function passThrough(
  { environment, senders, burst }: FaultTest,
  round: number,
): Promise<void> {
  const events = Array.from({ length: EVENTS }, (_, n) =>
    plainEvent(`msg_round_${round}_${n}`, { plan: n % FAILS_EVERY === 0 ? { fails: 1 } : {} }),
  );
  // On a busy machine some are answered 503.
  expect(await burst(...events)).toBeGreaterThan(EVENTS / 2);
  expect(await drain(environment, senders, 900_000)).toBeUndefined();
}

function heaps(roles: readonly Role[]): Promise<number[]> {
  return Promise.all(roles.map(async (role) => (await role.measure()).heapBytes));
}

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { describeOnSmallDisk, mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";
import { queryOnce } from "../../support/query-once.ts";
import { until } from "../../support/until.ts";
import type { FaultEnvironment } from "../environment/environment.ts";
import type { ClientLog } from "../load/client-log.ts";
import { plainEvent } from "../load/plan.ts";
import { type FaultTest, useFaultTests } from "../start-fault-test.ts";

const DISK_BYTES = 200 * 1_048_576;
const LINES_MAX = 20;

describeOnSmallDisk("F18 the disk of Postgres is full", () => {
  let mounted: SmallDisk | undefined;
  afterEach(async () => {
    await mounted?.close();
    mounted = undefined;
  });
  // After the disk's own end, for what is registered last ends first.
  const startFaultTest = useFaultTests();

  async function onSmallDisk(): Promise<FaultTest & { disk: SmallDisk }> {
    const disk = (mounted = await mountSmallDisk(DISK_BYTES));
    const faultTest = await startFaultTest({
      ...{ backend: "postgres", ack: "ledger", postgresFolder: disk.folder },
      // A recycled segment needs no space.
      postgresSettings: { min_wal_size: "32MB", max_wal_size: "48MB", wal_recycle: "off" },
    });
    return { ...faultTest, disk };
  }

  test("what cannot be written is refused, with measure in the logs; with space all of it goes on", async () => {
    const { disk, environment, log, expectInvariants } = await onSmallDisk();
    await until(() => log.acknowledged > 20);
    const before = await readLogs(environment);
    const fullMs = performance.now();
    disk.fill();
    await refusedTimes(log, 100);
    const texts = await until(async () => {
      const now = await readLogs(environment);
      const since = now.map((text, index) => text.slice(before[index]?.length));
      // A worker that has nothing left to do need not notice it.
      const ofIngresses = since.filter((_, index) => environment.roles[index]?.kind === "ingress");
      return ofIngresses.every((text) => text.includes("No space left on device")) && since;
    });
    const seconds = (performance.now() - fullMs) / 1_000;
    for (const text of texts) expect(text.split("\n").length / seconds).toBeLessThan(LINES_MAX);

    await disk.free();
    await expectInvariants();
  });

  test("no space for the WAL takes Postgres down: nothing is acknowledged until it is back", async () => {
    const { disk, environment, log, burst, expectInvariants } = await onSmallDisk();
    await until(() => log.acknowledged > 100);
    disk.fill();
    await refusedTimes(log, 20);
    // A segment of the WAL has no space any more: Postgres panics, and cannot recover.
    const { url } = environment.servers.postgres;
    // An empty segment is not left.
    const written = "pg_logical_emit_message(false, '', '')";
    const switchWal = () => queryOnce(url, `select ${written}, pg_switch_wal()`);
    await until(() => switchWal().then(() => false, isRefused));
    await refusedTimes(log, 20);
    expect(await burst(plainEvent("msg_no_room_1", { copies: 100 }))).toBe(0);

    await disk.free();
    await environment.servers.restartPostgres();
    await expectInvariants();
  });
});

async function refusedTimes({ unusual }: ClientLog, times: number): Promise<void> {
  const from = unusual.length;
  await until(() => unusual.slice(from).filter(({ answer }) => answer === 503).length > times);
}

function isRefused(error: Error & { code?: string }): boolean {
  return error.code === "ECONNREFUSED";
}

async function readLogs({ folder, roles }: FaultEnvironment): Promise<readonly string[]> {
  return await Promise.all(roles.map(({ name }) => readFile(join(folder, `${name}.log`), "utf8")));
}

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

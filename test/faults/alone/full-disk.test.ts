import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { describeOnSmallDisk, mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";
import { until } from "../../support/until.ts";
import type { ClientLog } from "../load/client-log.ts";
import { plainEvent } from "../load/plan.ts";
import { openScene, type OpenScene } from "../scenes/open-scene.ts";
import type { Stage } from "../stage/stage.ts";

const ALL = process.env["FAULTS"] === "all";
const LONG = { timeout: 240_000 };
const DISK_BYTES = 200 * 1_048_576;
/** Lines of log that a role may write, a second, while its disk is full. */
const LINES_MAX = 20;

describeOnSmallDisk("F18 the disk of Postgres is full", () => {
  let mounted: SmallDisk | undefined;
  let scene: OpenScene | undefined;
  afterEach(async () => {
    await scene?.close();
    await mounted?.close();
    scene = mounted = undefined;
  });

  async function onSmallDisk(): Promise<OpenScene & { disk: SmallDisk }> {
    const disk = (mounted = await mountSmallDisk(DISK_BYTES));
    scene = await openScene({
      ...{ backend: "postgres", ack: "ledger", postgresFolder: disk.folder },
      postgresSettings: { min_wal_size: "32MB", max_wal_size: "48MB" },
    });
    return { ...scene, disk };
  }

  test(
    "what cannot be written is refused, with measure in the logs; with room all of it goes on",
    LONG,
    async () => {
      const { disk, stage, log, expectEven } = await onSmallDisk();
      await until(() => log.acknowledged > 20);
      const before = await readLogs(stage);
      const fullMs = performance.now();
      disk.fill();
      await refusedTimes(log, 100);
      const texts = await until(async () => {
        const now = await readLogs(stage);
        const since = now.map((text, index) => text.slice(before[index]?.length));
        // A worker that has nothing left to do need not come to hear of it.
        const ofIngresses = since.filter((_, index) => stage.roles[index]?.kind === "ingress");
        return ofIngresses.every((text) => text.includes("No space left on device")) && since;
      });
      const seconds = (performance.now() - fullMs) / 1_000;
      for (const text of texts) expect(text.split("\n").length / seconds).toBeLessThan(LINES_MAX);

      await disk.free();
      await expectEven();
    },
  );

  test.runIf(ALL)(
    "no room for the WAL takes Postgres down: nothing is acknowledged until it is back (needs FAULTS=all)",
    LONG,
    async () => {
      const { disk, stage, log, burst, expectEven } = await onSmallDisk();
      await until(() => log.acknowledged > 100);
      disk.fill();
      await refusedTimes(log, 20);
      // A segment of the WAL has no room any more: Postgres panics, and cannot recover.
      const switchWal = () => stage.database.query("select pg_switch_wal()");
      await until(() => switchWal().then(() => false, isRefused));
      await refusedTimes(log, 20);
      expect(await burst(plainEvent("msg_no_room_1", { copies: 100 }))).toBe(0);

      await disk.free();
      await stage.ground.restartPostgres();
      await expectEven();
    },
  );
});

/** Resolves when so many further deliveries were answered 503. */
async function refusedTimes({ unusual }: ClientLog, times: number): Promise<void> {
  const from = unusual.length;
  await until(() => unusual.slice(from).filter(({ answer }) => answer === 503).length > times);
}

function isRefused(error: Error & { code?: string }): boolean {
  return error.code === "ECONNREFUSED";
}

async function readLogs({ folder, roles }: Stage): Promise<readonly string[]> {
  return await Promise.all(roles.map(({ name }) => readFile(join(folder, `${name}.log`), "utf8")));
}

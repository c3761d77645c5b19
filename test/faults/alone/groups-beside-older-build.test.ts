import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import type { Role } from "../environment/role.ts";
import { withGroups } from "../faults/groups.ts";
import { startAgain, strikeAt } from "../faults/strike-role.ts";
import { useFaultTests, type FaultTest } from "../start-fault-test.ts";
import { installOlderBuild, type OlderBuild } from "./older-build.ts";

describeOnRedis("groups of first attempts beside a worker that knows nothing of them", () => {
  let older: OlderBuild;
  const startFaultTest = useFaultTests();
  beforeAll(async () => {
    older = await installOlderBuild();
  });
  afterAll(() => older?.remove());

  test.each(["queue", "ledger"] as const)(
    "%s first: a group whose events the older worker takes over is undone, and none is lost or doubled",
    { timeout: 300_000 },
    async (ack) => {
      const faultTest = await startFaultTest(
        { backend: "redis", ack, build: older, ingresses: 1, workers: 1 },
        { rate: 40 },
      );
      const { environment } = faultTest;
      const [olderWorker] = environment.workers;
      if (olderWorker === undefined) throw new Error("Cannot continue: there is no older worker");
      expect(await environment.command(["migrate"])).toMatchObject({ code: 0 });
      const worker = environment.addRole("worker");
      await worker.start();

      // Its handlers have run and nothing is written yet, so that nothing stops the older worker.
      await strikeGroup(faultTest, worker, "SIGSTOP");
      await until(async () => (await countTakenOver(faultTest, worker, olderWorker)) > 0, {
        what: "an event of the frozen group completed by the older worker",
      });
      worker.signal("SIGCONT");

      await strikeGroup(faultTest, worker, "SIGKILL");
      await startAgain(worker);
      // The older build numbers its attempts without those that left no record.
      await faultTest.expectInvariants({ except: "I12 DEDUP BOUND" });
    },
  );
});

async function strikeGroup(
  faultTest: FaultTest,
  worker: Role,
  signal: NodeJS.Signals,
): Promise<void> {
  const striking = strikeAt(worker, "worker.group_ran", signal);
  expect(await withGroups(striking, faultTest)).toBe(true);
}

/** Events that one worker has begun and that the other one has completed. */
async function countTakenOver(
  { environment }: FaultTest,
  begun: Role,
  completed: Role,
): Promise<number> {
  const lines = await readFile(join(environment.folder, `starts-${begun.pid}.log`), "utf8");
  const ids = lines.split("\n").flatMap((line) => /^\["steady","([^"]+)"/.exec(line)?.[1] ?? []);
  // A further attempt of an event that failed is no takeover.
  const takenOver = "proof.effects where attempt = 1 and pid = $1 and event_id = any($2)";
  return await environment.count(takenOver, [completed.pid, ids]);
}

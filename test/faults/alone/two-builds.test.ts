import { afterAll, beforeAll, expect, test } from "vitest";
import { describeOnRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { plainEvent } from "../load/plan.ts";
import { useFaultTests, type FaultTest } from "../start-fault-test.ts";
import type { Role } from "../environment/role.ts";
import { withQueue } from "../../support/queue-fixture.ts";
import { createNewerBuild, type NewerBuild } from "./newer-build.ts";

const ALL = process.env["FAULTS"] === "all";
const DELIVERED_FIRST = 60;

describeOnRedis("an older and a newer build side by side", () => {
  let newer: NewerBuild | undefined;
  const startFaultTest = useFaultTests();
  beforeAll(async () => {
    if (ALL) newer = await createNewerBuild();
  });
  afterAll(() => newer?.remove());

  test.runIf(ALL)(
    "F23 a rolling deploy: older workers leave what a newer ingress queues to newer workers (needs FAULTS=all)",
    { timeout: 600_000 },
    async () => {
      const build = given(newer);
      const faultTest = await startFaultTest({ backend: "redis", ack: "queue", ingresses: 1 });
      const { environment, log, send, settled } = faultTest;
      const olderRoles = [...environment.roles];
      const olderWorkers = [...environment.workers];
      await until(() => log.acknowledged > DELIVERED_FIRST);

      // The database first, under the older build, which goes on.
      const migrated = await environment.command(["migrate"], build);
      expect(migrated).toMatchObject({ code: 0, output: expect.stringContaining("newer") });
      // One that dies meanwhile comes back.
      const [fallen] = olderWorkers;
      await fallen?.end("SIGKILL");
      await fallen?.start();
      send(plainEvent("msg_after_migration_1"));
      await settled("msg_after_migration_1", "completed");
      // It is on its way until long after the older workers are gone.
      send(plainEvent("msg_older_1", { plan: { fails: 60 } }));
      await settled("msg_older_1", "pending");

      // Then the ingress.
      await environment.addRole("ingress", { build }).start();
      await olderRoles.find(({ kind }) => kind === "ingress")?.retire();
      send(plainEvent("msg_newer_1", { copies: 3 }));
      await withQueue(environment.urls, "steady", async (queue) => {
        const job = await until(() => queue.getJob("msg_newer_1"));
        expect(job.data.v).toBe(build.envelopeVersion);
        await until(() => job.isDelayed(), { what: "msg_newer_1 delayed by an older worker" });
      });
      expect(await statusOf(faultTest, "msg_newer_1")).toBeUndefined();

      // Then the workers, one beside the older ones first.
      const worker = environment.addRole("worker", { build });
      await worker.start();
      await until(async () => (await handledBy(faultTest, [worker])).length > 0, {
        what: "an event handled by the newer worker beside the older ones",
      });
      const olderPids = olderWorkers.map(({ pid }) => ({ pid }));
      await Promise.all(olderWorkers.map((role) => role.retire()));
      await settled("msg_newer_1", "completed");
      await faultTest.expectInvariants();
      expect(await handledBy(faultTest, [worker])).toEqual(
        expect.arrayContaining(["msg_newer_1", "msg_older_1"]),
      );
      expect(await handledBy(faultTest, olderPids)).toContain("msg_after_migration_1");
    },
  );
});

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("Cannot continue: the newer build is missing");
  return value;
}

async function statusOf({ environment }: FaultTest, id: string): Promise<string | undefined> {
  const { rows } = await environment.database.query(
    "select status from millrace.events where event_id = $1",
    [id],
  );
  return rows[0]?.status;
}

async function handledBy(
  { environment }: FaultTest,
  workers: readonly Pick<Role, "pid">[],
): Promise<string[]> {
  const { rows } = await environment.database.query<{ id: string }>(
    "select event_id as id from proof.effects where pid = any($1)",
    [workers.map(({ pid }) => pid)],
  );
  return rows.map(({ id }) => id);
}

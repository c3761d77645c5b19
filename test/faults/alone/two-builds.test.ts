import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ENVELOPE_VERSION } from "@millrace/core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { withQueue } from "../../support/queue-fixture.ts";
import { describeOnRedis } from "../../support/redis.ts";
import { eventOf } from "../../support/seen-events.ts";
import { until } from "../../support/until.ts";
import type { Role } from "../environment/role.ts";
import { plainEvent } from "../load/plan.ts";
import { createScratch } from "../mutants/scratch.ts";
import { type FaultTest, useFaultTests } from "../start-fault-test.ts";

const DELIVERED_FIRST = 60;

describeOnRedis("an older and a newer build side by side", () => {
  let newer: NewerBuild | undefined;
  const startFaultTest = useFaultTests();
  beforeAll(async () => {
    newer = await createNewerBuild();
  });
  afterAll(() => newer?.remove());

  test("F23 a rolling deploy and the way back: older workers leave what a newer ingress queues to newer workers", async () => {
    const build = given(newer);
    const faultTest = await startFaultTest({ backend: "redis", ack: "queue", ingresses: 1 });
    const { environment, log, send, settled } = faultTest;
    const olderRoles = [...environment.roles];
    const olderWorkers = [...environment.workers];
    await until(() => log.acknowledged > DELIVERED_FIRST);

    const migrated = await environment.command(["migrate"], build);
    expect(migrated).toMatchObject({ code: 0, output: expect.stringContaining("newer") });
    const [fallen] = olderWorkers;
    await fallen?.end("SIGKILL");
    await fallen?.start();
    send(plainEvent("msg_after_migration_1"));
    await settled("msg_after_migration_1", "completed");
    // It is on its way until long after the older workers are gone.
    send(plainEvent("msg_older_1", { plan: { fails: 60 } }));
    await settled("msg_older_1", "pending");

    await environment.addRole("ingress", { build }).start();
    await olderRoles.find(({ kind }) => kind === "ingress")?.retire();
    send(plainEvent("msg_newer_1", { copies: 3 }));
    await withQueue(environment.urls, "steady", async (queue) => {
      const job = await until(() => queue.getJob("msg_newer_1"));
      expect(job.data.v).toBe(build.envelopeVersion);
      await until(() => job.isDelayed(), { what: "msg_newer_1 delayed by an older worker" });
    });
    expect(await eventOf(environment.database, "msg_newer_1")).toBeUndefined();

    const worker = environment.addRole("worker", { build });
    await worker.start();
    await until(async () => (await handledBy(faultTest, [worker])).length > 0, {
      what: "an event handled by the newer worker beside the older ones",
    });
    const olderPids = olderWorkers.map(({ pid }) => ({ pid }));
    await Promise.all(olderWorkers.map((role) => role.retire()));
    await settled("msg_newer_1", "completed");
    await until(async () => (await handledBy(faultTest, [worker])).includes("msg_older_1"), {
      what: "msg_older_1 handled by the newer worker",
    });
    expect(await handledBy(faultTest, [worker])).toContain("msg_newer_1");
    expect(await handledBy(faultTest, olderPids)).toContain("msg_after_migration_1");

    // The way back: the ingress first, then the workers, once no job of the newer build is left.
    const newerIngress = environment.roles.find(
      ({ kind, retired }) => kind === "ingress" && !retired,
    );
    await environment.addRole("ingress").start();
    await newerIngress?.retire();
    await withQueue(environment.urls, "steady", async (queue) => {
      await until(
        async () => {
          const jobs = await queue.getJobs(["waiting", "active", "delayed", "prioritized"]);
          return jobs.every(({ data }) => data.v !== build.envelopeVersion);
        },
        { what: "no job of the newer build" },
      );
    });
    const back = environment.addRole("worker");
    await back.start();
    await worker.retire();
    send(plainEvent("msg_back_1", { copies: 3 }));
    await settled("msg_back_1", "completed");
    expect(await handledBy(faultTest, [back])).toContain("msg_back_1");
    // What the newer worker emitted in its last moments waits for a worker of its build. An older one
    // puts such a job off for 30 s each time that it is the first to take it.
    await environment.addRole("worker", { build }).start();
    await back.retire();
    await faultTest.expectInvariants();
  }, 600_000);
});

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("Cannot continue: the newer build is missing");
  return value;
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

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const MIGRATIONS = join("packages", "ledger", "migrations");

type NewerBuild = Awaited<ReturnType<typeof createNewerBuild>>;

async function createNewerBuild() {
  const scratch = await createScratch(REPOSITORY);
  const { root } = scratch;
  const envelopeVersion = ENVELOPE_VERSION + 1;
  try {
    await scratch.apply([
      {
        file: join("packages", "core", "dist", "envelope.js"),
        from: `export const ENVELOPE_VERSION = ${ENVELOPE_VERSION};`,
        to: `export const ENVELOPE_VERSION = ${envelopeVersion};`,
      },
      {
        file: join("packages", "core", "dist", "envelope.js"),
        from: "v: z.literal(ENVELOPE_VERSION),",
        to: `v: z.union([z.literal(${ENVELOPE_VERSION}), z.literal(ENVELOPE_VERSION)]),`,
      },
    ]);
    await writeFile(
      join(root, MIGRATIONS, `${await nextNumber(join(root, MIGRATIONS))}_newer.sql`),
      "ALTER TABLE millrace.events ADD COLUMN newer text;\n",
    );
    await scratch.bundle();
  } catch (error) {
    await scratch.remove();
    throw error;
  }
  return {
    bin: join(root, "apps", "cli", "bin", "millrace.mjs"),
    config: join(root, "test", "fixtures", "faults", "millrace.config.ts"),
    envelopeVersion,
    remove: scratch.remove,
  };
}

async function nextNumber(folder: string): Promise<string> {
  const numbers = (await readdir(folder)).map((name) => Number.parseInt(name, 10) || 0);
  return String(Math.max(...numbers) + 1).padStart(4, "0");
}

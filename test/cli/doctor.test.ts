import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startReconciler } from "../operations/reconcile-once.ts";
import { createStage, key, type Stage } from "../operations/stage.ts";
import { onEachBackend, type Ground } from "../support/backends.ts";
import { freePort } from "../support/free-port.ts";
import { event } from "../support/queue-fixture.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { millrace } from "./run-in-process.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/doctor/millrace.config.ts", import.meta.url));

onEachBackend("millrace doctor", (prepare, backend) => {
  let ground: Ground;
  let stage: Stage;

  beforeAll(async () => {
    ground = await prepare();
    stage = await createStage(ground);
  });
  afterAll(async () => {
    await stage?.close();
    await ground?.release();
  });

  const doctor = (...args: string[]) =>
    millrace(["doctor", ...args], {
      env: {
        MILLRACE_CONFIG: CONFIG,
        DATABASE_URL: ground.databaseUrl,
        REDIS_URL: ground.redisUrl,
      },
    });
  /** Whatever there is to change: the events, and the jobs' states. */
  const everything = async () => {
    const { rows } = await stage.pool.query("SELECT * FROM millrace.events ORDER BY event_id");
    const jobs = await stage.queues.glance(rows.map((row) => key(row.event_id)));
    return { rows, jobs };
  };

  test("says that nobody reconciles, and that the queues were never compared", async () => {
    const { code, stdout } = await doctor();
    expect(code).toBe(1);
    expect(stdout).toMatch(/^BAD +reconciler +no worker reconciles$/m);
    expect(stdout).toMatch(/^BAD +epochs +.*: acme, patient$/m);
    expect(stdout).toMatch(/^ok +schema +up to date$/m);
    expect(stdout).toContain("Ledger and queues agree (0 looked at).");
  });

  test("says that all is well while a worker reconciles and nothing is amiss", async () => {
    await stage.fail("evt_fine_1");
    const reconciler = startReconciler(stage);
    onTestFinished(() => reconciler.close());
    await until(() => reconciler.notices.some(({ kind }) => kind === "passed"));
    const { code, stdout } = await doctor();
    expect(stdout).toMatch(/^ok +reconciler +a worker at .* leads, last seen \d+ s ago$/m);
    expect(stdout).not.toContain("BAD");
    expect(code).toBe(0);
  });

  test("names what ledger and queue disagree on, what will be done, and does none of it", async () => {
    const none = Array.from({ length: 7 }, (_, index) => event(`evt_none_${index}\u001b[2J`));
    await stage.ledger.accept(none);
    await stage.fail("evt_half_1");
    await stage.ledger.retry(key("evt_half_1"));
    const before = await everything();

    const { code, stdout } = await doctor();
    expect(code).toBe(1);
    expect(stdout).toContain("7 pending_without_job: ledger pending, job none");
    expect(stdout).toContain("acme  evt_none_0\\u{1b}[2J");
    expect(stdout).toContain("  and 2 more");
    expect(stdout).toMatch(
      /1 pending_retry_unfinished: .*the job is retried\n {2}acme {2}evt_half_1/,
    );

    const json = JSON.parse((await doctor("--json")).stdout);
    expect(json.disagreements.map(({ kind, count }: never) => [kind, count])).toEqual([
      ["pending_without_job", 7],
      ["pending_retry_unfinished", 1],
    ]);
    expect(await everything()).toEqual(before);
  });

  if (backend === "redis") {
    test("cannot tell when Redis does not answer", async () => {
      const port = await freePort();
      const env = { MILLRACE_CONFIG: CONFIG, DATABASE_URL: ground.databaseUrl };
      const { code, stdout } = await millrace(["doctor"], {
        env: { ...env, REDIS_URL: `redis://127.0.0.1:${port}` },
      });
      expect(stdout).toMatch(/^\? +queue +.*Cannot reach Redis/m);
      expect(code).toBe(2);
    });
  }
});

test("millrace doctor cannot tell where there are no tables, and makes none", async () => {
  const database = await scratchDatabase();
  const { code, stdout } = await millrace(["doctor"], {
    env: { MILLRACE_CONFIG: CONFIG, DATABASE_URL: database.url },
  });
  expect(stdout).toMatch(/^BAD +schema .*millrace migrate/m);
  expect(code).toBe(2);
  await database.drop();
});

test("millrace doctor cannot tell without a database", async () => {
  const { code, stderr } = await millrace(["doctor"], { env: { MILLRACE_CONFIG: CONFIG } });
  expect(stderr).toContain("database_unreachable");
  expect(code).toBe(2);
});

import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { standardWebhooks } from "@millrace/providers";
import { closeServer, listen } from "@millrace/service";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { startReconciler } from "../operations/reconcile-once.ts";
import { openTestStores, key, type TestStores } from "../support/stores-fixture.ts";
import { onEachBackend } from "../support/backends.ts";
import { freePort } from "../support/free-port.ts";
import { event } from "../support/queue-fixture.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { environmentOf } from "../support/server-urls.ts";
import { millrace } from "../support/run-in-process.ts";

const CONFIG = fileURLToPath(new URL("../fixtures/doctor/millrace.config.ts", import.meta.url));

onEachBackend("millrace doctor", (prepare, backend) => {
  let stores: TestStores;

  beforeAll(async () => {
    stores = await openTestStores(await prepare());
  });
  afterAll(() => stores?.close());

  const doctorWith = (env: Record<string, string>, ...args: string[]) =>
    millrace(["doctor", ...args], {
      env: { MILLRACE_CONFIG: CONFIG, ...environmentOf(stores.servers), ...env },
    });
  const doctor = (...args: string[]) => doctorWith({}, ...args);
  /** Whatever there is to change: the events, and the jobs' states. */
  const everything = async () => {
    const { rows } = await stores.pool.query("SELECT * FROM millrace.events ORDER BY event_id");
    const jobs = await stores.queues.jobStatuses(rows.map((row) => key(row.event_id)));
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
    await stores.fail("evt_fine_1");
    const reconciler = startReconciler(stores);
    onTestFinished(() => reconciler.close());
    await until(() => reconciler.notices.some(({ kind }) => kind === "passed"));
    const { code, stdout } = await doctor();
    expect(stdout).toMatch(/^ok +reconciler +a worker at .* leads, last seen \d+ s ago$/m);
    expect(stdout).not.toContain("BAD");
    expect(code).toBe(0);
  });

  test("names what ledger and queue disagree on, what will be done, and does none of it", async () => {
    const none = Array.from({ length: 7 }, (_, index) => event(`evt_none_${index}\u001b[2J`));
    await stores.ledger.intake.accept(none);
    await stores.fail("evt_half_1");
    await stores.ledger.retries.retryMany([key("evt_half_1")]);
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

  test("says how to mend what is bad, and whose clock is off", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    const { code, stdout } = await doctor();
    expect(stdout).toMatch(/^BAD +clocks +Postgres is (59|60) s behind/m);
    if (backend === "redis") expect(stdout).toMatch(/, Redis is (59|60) s behind$/m);
    expect(stdout).toMatch(/^ +mend: Set the clocks by NTP/m);
    expect(stdout).toMatch(/^ +mend: Start a worker: `millrace worker`$/m);
    expect(code).toBe(1);
  });

  test("looks at the secrets: all, some, none", async () => {
    const { provider } = standardWebhooks();
    const secrets = {
      ACME_WEBHOOK_SECRET: provider.generateSecret(),
      PATIENT_WEBHOOK_SECRET: provider.generateSecret(),
    };
    expect((await doctor()).stdout).toMatch(/^note +secrets +none is set here/m);
    const [some, all] = await Promise.all([
      doctorWith({ ACME_WEBHOOK_SECRET: secrets.ACME_WEBHOOK_SECRET }),
      doctorWith(secrets),
    ]);
    expect(some.stdout).toMatch(
      /^BAD +secrets +none for patient\n +mend: Set PATIENT_WEBHOOK_SECRET where the ingress runs$/m,
    );
    expect(all.stdout).toMatch(/^ok +secrets +2 set, 0 made/m);
    const malformed = await doctorWith({ ...secrets, ACME_WEBHOOK_SECRET: "whsec_YQ==" });
    expect(malformed.stdout).toMatch(/^BAD +secrets +acme: Cannot .*malformed/m);
    expect(malformed.stdout).not.toContain("whsec_YQ==");
  });

  test("says which ports are taken", async () => {
    const server = createServer();
    const port = await listen(server, { port: 0, host: "127.0.0.1" });
    onTestFinished(() => closeServer(server, { timeoutMs: 0 }));
    const { stdout } = await doctorWith({ INGRESS_PORT: String(port) });
    expect(stdout).toMatch(new RegExp(`^note +ports +${port}[ ,].*taken`, "m"));
  });

  if (backend === "redis") {
    test("cannot tell when Redis does not answer", async () => {
      const port = await freePort();
      const env = { MILLRACE_CONFIG: CONFIG, DATABASE_URL: stores.servers.databaseUrl };
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

test("millrace doctor says what is wrong with the config, and how to have one", async () => {
  const { code, stdout } = await millrace(["doctor"], {
    env: { MILLRACE_CONFIG: "/nowhere/millrace.config.ts" },
  });
  expect(stdout).toMatch(/^BAD +config +.*no file "\/nowhere\/millrace.config.ts"/m);
  expect(stdout).toMatch(/^ +mend: `millrace init` writes one/m);
  expect(stdout).toContain("Ledger and queues were not compared.");
  expect(code).toBe(2);
});

test("millrace doctor cannot tell without a database", async () => {
  const { code, stderr } = await millrace(["doctor"], { env: { MILLRACE_CONFIG: CONFIG } });
  expect(stderr).toContain("database_unreachable");
  expect(code).toBe(2);
});

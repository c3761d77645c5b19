import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createLedger } from "@millrace/ledger";
import { standardWebhooks } from "@millrace/providers";
import { expect, onTestFinished, test } from "vitest";
import { newFolder } from "../support/new-folder.ts";
import { startReconciler } from "../operations/reconcile-once.ts";
import { key, useStores } from "../support/stores-fixture.ts";
import { onOneBackend } from "../support/backends.ts";
import { anEvent } from "../support/events.ts";
import { serve } from "../support/free-port.ts";
import { event } from "../support/queue-fixture.ts";
import { queryOnce, withPool } from "../support/query-once.ts";
import { allowOnly } from "../support/redis-client.ts";
import { migratedDatabase, scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { environmentOf } from "../support/server-urls.ts";
import { millrace } from "../support/run-in-process.ts";
import { doctorConfig } from "./cli-fixture.ts";

// The servers that a set-up may have, and what the doctor says of each: test/infra/set-ups.test.ts.

const NOWHERE = "postgres://nobody@127.0.0.1:1";

const examine = (env: Record<string, string | undefined>, ...args: string[]) =>
  millrace(["doctor", ...args], { env: { MILLRACE_CONFIG: doctorConfig("millrace"), ...env } });

onOneBackend("millrace doctor", (prepare, backend) => {
  const stores = useStores(prepare);

  const doctorWith = (env: Record<string, string>, ...args: string[]) =>
    examine({ ...environmentOf(stores.servers), ...env }, ...args);
  const doctor = (...args: string[]) => doctorWith({}, ...args);
  const everything = async () => {
    const { rows } = await stores.pool.query("SELECT * FROM millrace.events ORDER BY event_id");
    const jobs = await stores.queues.jobStatuses(rows.map((row) => key(row.event_id)));
    return { rows, jobs };
  };

  test("says that nobody reconciles, and that the queues were never compared", async () => {
    const refused = { source: "acme", code: "no_secret_matches", deliveries: 34, agoMs: 0 };
    await stores.ledger.intake.noteRefusals([refused]);
    const { code, stdout } = await doctor();
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^note +signatures +All .* refused: acme \(34 no_secret_matches\)\n +fix:/m,
    );
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
    expect(stdout).toMatch(/^ok +reconciler +a worker on .* leads, last seen \d+ s ago$/m);
    expect(stdout).toMatch(/^ok +signatures +No source/m);
    expect(stdout).toMatch(/^ok +waiting +No event waits longer than 5 min$/m);
    expect(stdout).not.toContain("BAD");
    expect(code).toBe(0);
  });

  test.runIf(backend === "redis")("compares the others when Redis refuses one queue", async () => {
    const REDIS_URL = await allowOnly(stores.servers.redisUrl, "~bull:millrace-acme:*");
    await stores.ledger.intake.accept([event("evt_beside_1")]);
    const { code, stdout } = await doctorWith({ REDIS_URL });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^\? +queue of patient +NOPERM/m);
    expect(stdout).toContain("Not compared: patient.");
    expect(stdout).toContain("1 pending_without_job: ledger pending, job none");
    await stores.queues.enqueue([event("evt_beside_1")], { identityOnly: true });
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
      /^BAD +secrets +none for patient\n +fix: Set PATIENT_WEBHOOK_SECRET where the ingress runs$/m,
    );
    expect(all.stdout).toMatch(/^ok +secrets +2 set, 0 made/m);
    const internal = await doctorWith({ ...secrets, MILLRACE_CONFIG: doctorConfig("internal") });
    expect(internal.stdout).toMatch(/^ok +secrets +2 set, 0 made/m);
    const malformed = await doctorWith({ ...secrets, ACME_WEBHOOK_SECRET: "whsec_YQ==" });
    expect(malformed.stdout).toMatch(/^BAD +secrets +acme: Cannot .*malformed/m);
    expect(malformed.stdout).not.toContain("whsec_YQ==");
    const unreadable = await doctorWith({ ...secrets, ACME_WEBHOOK_SECRET: "[1]" });
    expect(unreadable.stdout).toMatch(
      /^BAD +secrets +Cannot read secrets:\n +ACME_WEBHOOK_SECRET: /m,
    );
  });

  test("says which ports are taken", async () => {
    const { port, close } = await serve();
    onTestFinished(close);
    const { stdout } = await doctorWith({ INGRESS_PORT: String(port) });
    expect(stdout).toMatch(new RegExp(`^note +ports +${port}[ ,].*taken`, "m"));
  });
});

test("millrace doctor says that there are no tables, and makes none", async () => {
  const database = await scratchDatabase();
  const { code, stdout } = await examine({ DATABASE_URL: database.url });
  expect(stdout).toMatch(/^BAD +schema .*millrace migrate/m);
  expect(stdout).toMatch(/^BAD +queue +on Postgres, and its tables are missing\n +fix: Run/m);
  expect(code).toBe(1);
  expect(
    await queryOnce(database.url, "SELECT 1 FROM pg_namespace WHERE nspname = 'bullmq'"),
  ).toEqual([]);
  await database.drop();
});

test("millrace doctor says what is wrong with the config, and how to have one", async () => {
  const { code, stdout } = await examine({ MILLRACE_CONFIG: "/nowhere/millrace.config.ts" });
  expect(stdout).toMatch(/^BAD +config +.*no file "\/nowhere\/millrace.config.ts"/m);
  expect(stdout).toMatch(/^ +fix: `millrace init` writes one/m);
  expect(stdout).toContain("Ledger and queues were not compared.");
  expect(code).toBe(1);
});

test("millrace doctor cannot tell while Postgres is down, of a queue on it neither", async () => {
  const { code, stdout } = await examine({ DATABASE_URL: `${NOWHERE}/none` });
  expect(stdout).toMatch(/^\? +postgres +.*ECONNREFUSED.*\n +fix: Check the host and port/m);
  expect(stdout).not.toContain("on Postgres");
  expect(code).toBe(2);
});

test("millrace doctor examines one system, where DATABASE_URL names another than the folder's start", async () => {
  const folder = newFolder();
  const url = "http://127.0.0.1:9";
  const run = { pid: process.pid, started_at: "now", config: "", processes: [] };
  const facts = { ...run, ingress_url: url, dashboard_url: url, database_url: `${NOWHERE}/own` };
  await writeFile(join(folder, "run.json"), JSON.stringify(facts));
  await writeFile(join(folder, "secrets.json"), "{}");
  const of = async (databaseUrl: string) =>
    (await examine({ MILLRACE_DATA_DIR: folder, DATABASE_URL: databaseUrl })).stdout;
  const another = await of(`${NOWHERE}/another`);
  expect(another).toMatch(/^note +start +DATABASE_URL names another database/m);
  expect(another).not.toMatch(/^\w+ +(roles|ports)\b/m);
  const own = await of("postgres://me:secret@localhost:1/own");
  expect(own).toMatch(/^ok +roles\b/m);
  expect(own).not.toContain("names another");
});

test("millrace doctor names types of handlers that are on no list and have not been received", async () => {
  const database = await migratedDatabase();
  const doctor = () =>
    examine({ MILLRACE_CONFIG: doctorConfig("types"), DATABASE_URL: database.url });
  const typesIn = (output: string) => /^note +event types +(.*)$/m.exec(output)?.[1];
  const unknown =
    "handlers name types that are on no list and in none of the latest 10,000 events: ";
  const misspelled = "pay payment_intent.suceeded (payment_intent.succeeded?)";
  // Nothing is known of acme, so its types may be right.
  expect(typesIn((await doctor()).stdout)).toBe(`${unknown}${misspelled}`);
  await acceptTypes(database.url, "acme", ["order.packed"]);
  const { stdout } = await doctor();
  expect(typesIn(stdout)).toBe(`${unknown}${misspelled}, acme order.pakced (order.packed?)`);
  expect(stdout).toMatch(/^ +fix: Correct the type in `on`; if it is right, add it to `types`/m);
  await acceptTypes(database.url, "acme", ["order.pakced"]);
  await acceptTypes(database.url, "pay", ["payment_intent.suceeded"]);
  expect((await doctor()).stdout).not.toContain("event types");
  await database.drop();
});

function acceptTypes(url: string, source: string, types: readonly string[]) {
  const events = types.map((type) => anEvent({ source, type }));
  return withPool(url, (pool) => createLedger({ pool }).intake.accept(events));
}

import { createLedger, createPool, findPooler } from "@millrace/ledger";
import type pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, inject, onTestFinished, test } from "vitest";
import { onRedis, type TestServers } from "../support/backends.ts";
import { describeBehindPgbouncer } from "../support/describe-on-servers.ts";
import { claim, patient } from "../support/ledger-fixture.ts";
import { readMetric } from "../support/metrics.ts";
import { canKeepNames, startPgbouncer, type TestPgbouncer } from "../support/pgbouncer.ts";
import { createPipeline, untilCompletedOnce, type Pipeline } from "../support/pipeline.ts";
import { event } from "../support/queue-fixture.ts";
import { migratedDatabase } from "../support/scratch-database.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { millrace } from "../support/run-in-process.ts";
import { until } from "../support/until.ts";
import { named, sendAll } from "./sending.ts";

const EVENTS = 480;
const LEADS = "millrace_reconciler_leader";

describeBehindPgbouncer("behind PgBouncer", () => {
  let servers: TestServers;
  let transactions: TestPgbouncer;
  let sessions: TestPgbouncer;
  let pipeline: Pipeline;
  beforeAll(async () => {
    servers = await onRedis();
    [transactions, sessions] = await Promise.all([
      startPgbouncer(inject("postgresUrl")),
      // A connection keeps its server here.
      startPgbouncer(inject("postgresUrl"), { poolMode: "session", poolSize: 40 }),
    ]);
    pipeline = await createPipeline(servers);
  });
  beforeEach(() => pipeline.database.query("TRUNCATE effects"));
  afterAll(async () => {
    await pipeline?.stop();
    await Promise.all([transactions?.stop(), sessions?.stop()]);
    await servers?.release();
  });

  const pooled = () => ({
    DATABASE_URL: transactions.urlOf(servers.databaseUrl),
    DATABASE_SESSION_URL: servers.databaseUrl,
  });

  async function start(env: Readonly<Record<string, string>>, count = 1) {
    const open = async (role: "ingress" | "worker") => {
      const started = await pipeline.startInProcess(role, env);
      onTestFinished(() => started.close());
      return started;
    };
    const opening = Array.from({ length: count }, () => open("worker"));
    return { ingress: await open("ingress"), workers: await Promise.all(opening) };
  }

  async function run(ingress: { url: string }, name: string, count = 50): Promise<void> {
    const ids = named(name, count);
    await sendAll(ingress, ids);
    expect(await untilCompletedOnce(pipeline.database, ids)).toEqual([]);
  }

  test(`${EVENTS} of ${EVENTS} events run once through transaction pooling, and one reconciler leads`, async () => {
    const { ingress, workers } = await start(pooled(), 3);
    const leaders = async () => {
      const each = await Promise.all(workers.map(({ url }) => readMetric(url, LEADS)));
      return each.reduce<number>((sum, leads) => sum + (leads ?? 0), 0);
    };
    await until(async () => (await leaders()) === 1);
    const ids = named("pooled", EVENTS);
    for (let at = 0; at < ids.length; at += 40) {
      const answers = await sendAll(ingress, ids.slice(at, at + 40));
      // A sender whose first try was answered 503 may find its event stored.
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
      expect(await leaders()).toBeLessThanOrEqual(1);
    }
    expect(await untilCompletedOnce(pipeline.database, ids)).toEqual([]);
    const failed = "SELECT code, message FROM millrace.attempts WHERE code <> 'interrupted'";
    expect((await pipeline.database.query(failed)).rows).toEqual([]);
    await until(async () => (await leaders()) === 1);
  });

  test("events run while PgBouncer is restarted", async () => {
    const { ingress } = await start(pooled());
    const running = run(ingress, "restarted", 100);
    await transactions.restart();
    await running;
  });

  test("a worker needs nothing more where sessions are pooled", async () => {
    const DATABASE_URL = sessions.urlOf(servers.databaseUrl);
    const { ingress } = await start({ DATABASE_URL });
    await run(ingress, "session");
  });

  test("events run where the queue is on Postgres and DATABASE_SESSION_URL leads past the pooler", async () => {
    const env = { ...pooled(), REDIS_URL: "" };
    const { ingress } = await start(env);
    await run(ingress, "queue");
  });

  test("commands work through it", async () => {
    const env = { ...pipeline.env, ...pooled() };
    expect(await millrace(["migrate"], { env })).toMatchObject({ code: 0 });
    expect(await millrace(["events", "--limit", "1"], { env })).toMatchObject({ code: 0 });
    expect(await millrace(["retention"], { env })).toMatchObject({ code: 0 });
    const alone = { ...env, DATABASE_SESSION_URL: "" };
    expect(await millrace(["retention"], { env: alone })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("(session_needed)"),
    });
  });

  test("a leader that was frozen does not lead when it wakes, and reconciles nothing", async () => {
    const first = await pipeline.start("worker", pooled());
    onTestFinished(async () => void (await first.end()));
    await until(async () => (await readMetric(first.url, LEADS)) === 1);
    const passed = "millrace_reconciler_last_pass_timestamp_seconds";
    await until(async () => ((await readMetric(first.url, passed)) ?? 0) > 0);
    const second = await pipeline.start("worker", pooled());
    onTestFinished(async () => void (await second.end()));
    first.signal("SIGSTOP");
    await until(async () => (await readMetric(second.url, LEADS)) === 1);
    const since = Date.now() / 1_000;
    first.signal("SIGCONT");
    expect(await readMetric(first.url, LEADS)).toBe(0);
    await until(async () => ((await readMetric(second.url, passed)) ?? 0) > since + 10);
    expect(await readMetric(first.url, passed)).toBeLessThan(since);
    expect(await readMetric(first.url, LEADS)).toBe(0);
  });
});

describeBehindPgbouncer("the ledger's pool", () => {
  let database: Awaited<ReturnType<typeof migratedDatabase>>;
  let pooler: TestPgbouncer;
  beforeAll(async () => {
    [database, pooler] = await Promise.all([
      migratedDatabase(),
      startPgbouncer(inject("postgresUrl"), { poolSize: 4 }),
    ]);
  });
  afterAll(async () => {
    await pooler?.stop();
    await database?.drop();
  });

  function openPool(url: string, max = 8): pg.Pool {
    const pool = createPool({ url, max, applicationName: "millrace-test" });
    onTestFinished(() => pool.end());
    return pool;
  }

  async function attemptAll(pool: pg.Pool, name: string, count = 40): Promise<void> {
    const { claims } = createLedger({ pool });
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const one = event(`${name}_${index}`);
        const number = await claim(createLedger({ pool }), one);
        const { kind } = await claims.attempt(one, number, async () => "handled", patient());
        expect(kind).toBe("completed");
      }),
    );
  }

  test("finds a pooler, and what it shares", async () => {
    const proxy = await startTcpProxy(database.url);
    onTestFinished(() => proxy.close());
    const session = await startPgbouncer(inject("postgresUrl"), { poolMode: "session" });
    onTestFinished(() => session.stop());
    expect(await findPooler(openPool(database.url))).toBe("none");
    expect(await findPooler(openPool(proxy.url))).toBe("none");
    expect(await findPooler(openPool(pooler.urlOf(database.url)))).toBe("transaction");
    expect(await findPooler(openPool(session.urlOf(database.url)))).toBe("session");
    const single = await startPgbouncer(inject("postgresUrl"), { poolSize: 1 });
    onTestFinished(() => single.stop());
    expect(await findPooler(openPool(single.urlOf(database.url), 4))).toBe("transaction");
  });

  test("sends names where the pooler keeps them, and none once it has found that they are gone", async () => {
    const keeps = canKeepNames();
    // All look at one connection to Postgres, so what is prepared there is all that is.
    const keeping = await startPgbouncer(inject("postgresUrl"), {
      poolSize: 1,
      settings: keeps ? { max_prepared_statements: 100 } : {},
    });
    onTestFinished(() => keeping.stop());
    const pool = openPool(keeping.urlOf(database.url), 4);
    const errors: string[] = [];
    expect(await findPooler(pool)).toBe("transaction");
    pool.on("connect", (client) => {
      client.connection.on("errorMessage", ({ code }: { code: string }) => errors.push(code));
    });
    await attemptAll(pool, "found", 20);
    expect(errors).toEqual([]);
    const { rows } = await pool.query<{ name: string; statement: string }>(
      "SELECT name, statement FROM pg_prepared_statements WHERE statement LIKE '%millrace.%'",
    );
    if (keeps) expect(rows.length).toBeGreaterThan(1);
    else expect(rows).toEqual([]);
  });

  test("learns it late, from the first statement that is gone, where a name is moved to a pooler", async () => {
    const name = await startTcpProxy(database.url);
    onTestFinished(() => name.close());
    const pool = openPool(name.url);
    expect(await findPooler(pool)).toBe("none");
    await attemptAll(pool, "direct");
    name.retarget(pooler.url);
    await until(() =>
      attemptAll(pool, `late_${performance.now()}`).then(
        () => true,
        () => false,
      ),
    );
    await attemptAll(pool, "learned", 100);
  });
});

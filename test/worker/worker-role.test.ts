import { openStores } from "@millrace/connect";
import type { Logger } from "@millrace/service";
import { createPool, migrate } from "@millrace/ledger";
import { createRedisQueues } from "@millrace/queue";
import { createWorkerRole, type WorkerRole } from "@millrace/worker";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import { createRelay, type Relay } from "./relay.ts";
import { effect, makeEvent, shopConfig } from "./worker-bench.ts";

describeOnRedis("a worker process", () => {
  let database: Awaited<ReturnType<typeof scratchDatabase>>;
  let redis: TestRedis;
  let relay: Relay;
  let role: WorkerRole;
  let lines: string[];

  beforeEach(async () => {
    [database, redis] = await Promise.all([scratchDatabase(), startRedis()]);
    const url = new URL(database.url);
    relay = createRelay(await freePort(), { host: url.hostname, port: Number(url.port) });
    url.port = String(relay.port);
    url.hostname = "127.0.0.1";
    lines = [];
    role = makeRole(url.href);
  });
  afterEach(async () => {
    await role.close();
    await relay.cut();
    await Promise.all([database.drop(), redis.stop()]);
  });

  function makeRole(databaseUrl: string, concurrency = 2): WorkerRole {
    const write = (fields: object, message: string) =>
      void lines.push(JSON.stringify({ ...fields, message }));
    const logger = { debug: () => {}, info: write, warn: write, error: write };
    const config = shopConfig([effect], { concurrency, shutdownTimeoutMs: 500 });
    const environment = { DATABASE_URL: databaseUrl, REDIS_URL: redis.url };
    return createWorkerRole({
      config,
      handlers: [effect],
      archiveDir: undefined,
      logger: logger as unknown as Logger,
      openStores: (watch) => openStores(environment, config, "worker", watch),
    });
  }

  async function migrateDatabase(): Promise<void> {
    const pool = createPool({ url: database.url, max: 1, applicationName: "test" });
    await migrate({ pool });
    await pool.query("create table effects (event_id text)");
    await pool.end();
  }

  const listenOn = async () =>
    `http://127.0.0.1:${await role.listen({ port: 0, host: "127.0.0.1" })}`;
  const readiness = async (url: string) => {
    const response = await fetch(`${url}/readyz`);
    return { status: response.status, text: await response.text() };
  };

  test("waits for Postgres, then for Redis, says which on /readyz, and then takes jobs", async () => {
    await migrateDatabase();
    await redis.kill();
    const url = await listenOn();
    const started = role.start();
    await until(async () => (await readiness(url)).text.includes("waiting for Postgres"));
    expect((await readiness(url)).status).toBe(503);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const nowhere = await fetch(`${url}/nowhere`);
    expect([nowhere.status, await nowhere.json()]).toMatchObject([
      404,
      { error: { code: "not_found" } },
    ]);
    await relay.open();
    await until(async () => (await readiness(url)).text.includes("waiting for the queue"));
    expect((await readiness(url)).status).toBe(503);
    await redis.restart();
    await started;
    await until(async () => (await readiness(url)).status === 200);

    const producer = createRedisQueues({
      url: redis.url,
      sources: ["shop"],
      role: "ingress",
      notify: () => {},
    });
    await until(async () => (await producer.enqueue([makeEvent()]))[0] === "accepted");
    await until(async () => {
      const metrics = await (await fetch(`${url}/metrics`)).text();
      return /millrace_worker_jobs_total\{source="shop",outcome="handled",role="worker"\} 1/.test(
        metrics,
      );
    });
    await producer.close();
  });

  test("is not ready while Redis is away, and logs it about once a second", async () => {
    await migrateDatabase();
    await relay.open();
    const url = await listenOn();
    await role.start();
    await until(async () => (await readiness(url)).status === 200);
    await redis.kill();
    await until(async () => (await readiness(url)).status === 503);
    const startMs = performance.now();
    const before = lines.length;
    await until(() => performance.now() - startMs > 3_000);
    const seconds = (performance.now() - startMs) / 1_000;
    const perCause = new Map<string, number>();
    for (const line of lines.slice(before)) {
      const { cause } = JSON.parse(line) as { cause?: string };
      perCause.set(cause ?? line, (perCause.get(cause ?? line) ?? 0) + 1);
    }
    expect(Math.max(0, ...perCause.values())).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    await redis.restart();
    await until(async () => (await readiness(url)).status === 200);
  });

  test("is not ready while Postgres is away, and is again when it is back", async () => {
    await migrateDatabase();
    await relay.open();
    const url = await listenOn();
    await role.start();
    await until(async () => (await readiness(url)).status === 200);
    await relay.cut();
    await until(async () => (await readiness(url)).text.includes("postgres"));
    expect((await readiness(url)).status).toBe(503);
    await relay.open();
    await until(async () => (await readiness(url)).status === 200);
  });

  test("does not start on a database that was not migrated, and names the command", async () => {
    await relay.open();
    await expect(role.start()).rejects.toThrow("millrace migrate");
  });

  test("does not start when it may need more connections than Postgres gives", async () => {
    await migrateDatabase();
    const greedy = makeRole(database.url, 500);
    await expect(greedy.start()).rejects.toMatchObject({ code: "too_many_connections" });
    await greedy.close();
  });

  test("stops while it waits for a server", async () => {
    await listenOn();
    const started = role.start();
    await until(() => lines.some((line) => line.includes("waiting for Postgres")));
    await role.close();
    await expect(started).rejects.toMatchObject({ code: "shutting_down" });
  });
});

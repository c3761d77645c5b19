import { afterEach, beforeEach, expect, test } from "vitest";
import { openTestLedger } from "../support/ledger-fixture.ts";
import { openTestQueues } from "../support/queue-fixture.ts";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { withRedis } from "../support/redis-client.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { createTestRole, makeEvent, type TestRole } from "./worker-fixture.ts";

describeOnRedis("a worker process", () => {
  let database: Awaited<ReturnType<typeof scratchDatabase>>;
  let redis: TestRedis;
  let proxy: TcpProxy;
  let role: TestRole["role"];
  let lines: TestRole["lines"];

  beforeEach(async () => {
    [database, redis] = await Promise.all([scratchDatabase(), startRedis()]);
    proxy = await startTcpProxy(database.url);
    proxy.refuse();
    ({ role, lines } = makeRole(proxy.url));
  });
  afterEach(async () => {
    await role.close();
    await Promise.all([proxy.close(), database.drop(), redis.stop()]);
  });

  const makeRole = (databaseUrl: string) =>
    createTestRole({ databaseUrl, redisUrl: redis.url }, { concurrency: 2 });

  async function migrateDatabase(): Promise<void> {
    const { ask, close } = await openTestLedger({ url: database.url });
    await ask("create table effects (event_id text)");
    await close();
  }

  async function startReady(): Promise<string> {
    await migrateDatabase();
    proxy.admit();
    const url = await listenOn();
    await role.start();
    await until(async () => (await readiness(url)).status === 200);
    return url;
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
    expect(await (await fetch(`${url}/metrics`)).text()).toContain(
      'millrace_reconciler_leader{role="worker"} 0',
    );
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const nowhere = await fetch(`${url}/nowhere`);
    expect(await nowhere.json()).toMatchObject({ error: { code: "not_found" } });
    proxy.admit();
    await until(async () => (await readiness(url)).text.includes("waiting for the queue"));
    expect((await readiness(url)).status).toBe(503);
    await redis.restart();
    await started;
    await until(async () => (await readiness(url)).status === 200);

    const urls = { databaseUrl: database.url, redisUrl: redis.url };
    const producer = await openTestQueues(urls, "ingress", ["shop"]);
    await until(async () => (await producer.enqueue([makeEvent()]))[0] === "accepted");
    const handled = 'millrace_worker_jobs_total{source="shop",outcome="handled",role="worker"} 1';
    await until(async () => (await (await fetch(`${url}/metrics`)).text()).includes(handled));
    await producer.close();
  });

  test("is not ready while Redis is away, and logs it about once a second", async () => {
    const url = await startReady();
    await redis.kill();
    await until(async () => (await readiness(url)).status === 503);
    const startMs = performance.now();
    const before = lines.length;
    await until(() => performance.now() - startMs > 3_000);
    const seconds = (performance.now() - startMs) / 1_000;
    const perCause = new Map<string, number>();
    for (const line of lines.slice(before)) {
      const cause = line.cause ?? JSON.stringify(line);
      perCause.set(cause, (perCause.get(cause) ?? 0) + 1);
    }
    expect(Math.max(0, ...perCause.values())).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
    await redis.restart();
    await until(async () => (await readiness(url)).status === 200);
  });

  test("is not ready while Postgres is away, and is again when it is back", async () => {
    const url = await startReady();
    proxy.refuse();
    await until(async () => (await readiness(url)).text.includes("postgres"));
    expect((await readiness(url)).status).toBe(503);
    proxy.admit();
    await until(async () => (await readiness(url)).status === 200);
  });

  test("tells at its first start that a queue is new, and warns only of one that was flushed", async () => {
    await migrateDatabase();
    proxy.admit();
    const told = () =>
      lines
        .filter(({ message }) => message.includes("comparing all pending events"))
        .map(({ level, message }) => `${level}: ${message.slice(0, message.indexOf(";"))}`);
    await role.start();
    await until(() => lines.some(({ message }) => message === "reconciled"));
    expect(told()).toEqual(["info: a queue is new"]);
    expect(lines.filter(({ level }) => level !== "info")).toEqual([]);
    await role.close();
    await withRedis(redis.url, (client) => client.flushall());
    ({ role, lines } = makeRole(database.url));
    await role.start();
    await until(() => lines.some(({ message }) => message === "reconciled"));
    expect(told()).toEqual(["warn: a queue was restarted, flushed, or restored"]);
  });

  test("is not ready while it closes", async () => {
    const url = await startReady();
    const closed = role.close();
    expect(await readiness(url)).toMatchObject({
      status: 503,
      text: expect.stringContaining("closing"),
    });
    await closed;
  });

  test("waits for Postgres again when it goes away while the worker starts", async () => {
    await migrateDatabase();
    proxy.admit();
    await role.close();
    const servers = { databaseUrl: proxy.url, redisUrl: redis.url };
    ({ role, lines } = createTestRole(servers, { onQueues: () => proxy.refuse() }));
    const status = await listenOn();
    const started = role.start();
    await until(async () => (await readiness(status)).text.includes("waiting for Postgres"));
    proxy.admit();
    await started;
    await until(async () => (await readiness(status)).status === 200);
  });

  test("stops while it waits for a server", async () => {
    await listenOn();
    const started = role.start();
    await until(() => JSON.stringify(lines).includes("waiting for Postgres"));
    await role.close();
    await expect(started).rejects.toMatchObject({ code: "shutting_down" });
  });
});

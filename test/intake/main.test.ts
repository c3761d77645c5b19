import { main } from "@millrace/ingress";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { serve } from "../support/free-port.ts";
import { startInProcess } from "../support/in-process.ts";
import { startRole } from "../support/millrace-process.ts";
import { markQueue, withQueue } from "../support/queue-fixture.ts";
import { migratedDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import config from "./fixture/millrace.config.ts";
import { SECRET, signed, VARIABLES } from "./plain-config.ts";
import { sendTo } from "./send-to.ts";

async function redisForTest(args: readonly string[] = []): Promise<TestRedis> {
  // The queue's mark has to survive a SIGKILL, also while the disk is busy.
  const redis = await startRedis({ args: ["--appendfsync", "always", ...args] });
  onTestFinished(() => redis.stop());
  await markQueue(redis.url, "plain");
  return redis;
}

async function startProcess(redis: TestRedis) {
  const started = await startRole("ingress", { ...VARIABLES, REDIS_URL: redis.url });
  onTestFinished(async () => void (await started.end()));
  return started;
}

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);
const post = (port: number, data: unknown) => sendTo(port, { source: "plain", ...signed(data) });
const statusOf = async (port: number, path: string) =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status;

const mainInProcess = (env: Readonly<Record<string, string>>) =>
  main({ ...VARIABLES, LOG_LEVEL: "silent", ...env });

test("an ingress without an event store does not start, and says what to set", async () => {
  await expect(mainInProcess({})).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringContaining("REDIS_URL"),
  });
});

test("an ingress fails by name when its port is taken", async () => {
  const { port, close } = await serve();
  const env = { DATABASE_URL: "postgres://127.0.0.1:1/none", INGRESS_PORT: String(port) };
  await expect(mainInProcess(env)).rejects.toMatchObject({ code: "port_in_use" });
  await close();
});

describeOnRedis("an ingress on Redis alone", () => {
  test("enqueues what is verified, and never loads the handlers", async () => {
    const redis = await redisForTest();
    const ingress = await startProcess(redis);
    const port = portOf(ingress);
    const canary = "canary-body-4711";
    expect((await post(port, { id: "evt_1", x: canary })).status).toBe(202);
    expect((await post(port, { id: "evt_1", x: canary })).status).toBe(200);
    expect((await sendTo(port, { source: "plain", body: canary })).status).toBe(401);
    expect(await statusOf(port, "/healthz")).toBe(200);
    expect(await statusOf(port, "/readyz")).toBe(200);

    await withQueue({ databaseUrl: "", redisUrl: redis.url }, "plain", async (queue) => {
      expect(await queue.getJobCounts("waiting", "prioritized")).toMatchObject({ waiting: 1 });
      const job = await queue.getJob("evt_1");
      expect(job?.data).toMatchObject({ source: "plain", id: "evt_1", type: "thing.happened" });
    });

    const metrics = await (await fetch(`${ingress.url}/metrics`)).text();
    for (const line of [
      /millrace_ingress_deliveries_total\{source="plain",outcome="accepted".*\} 1/,
      /millrace_ingress_deliveries_total\{source="plain",outcome="duplicate".*\} 1/,
      /millrace_ingress_rejected_total\{source="plain",code="invalid_signature".*\} 1/,
      /millrace_ingress_ack_seconds_count\{.*\} 2/,
      /millrace_ingress_bytes_in_flight\{.*\} 0/,
    ]) {
      expect(metrics).toMatch(line);
    }
    expect(metrics).not.toMatch(/evt_1|thing\.happened/);

    expect(await ingress.end("SIGTERM")).toBe(0);
    for (const secret of [canary, SECRET, "loaded the handlers"]) {
      expect(ingress.output()).not.toContain(secret);
    }
  });

  test("listens while Redis is away, answers 503, and accepts when it is there", async () => {
    const redis = await redisForTest();
    await redis.kill();
    const port = portOf(await startProcess(redis));
    const answer = await post(port, { id: "evt_early" });
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toMatch(/^[1-5]$/);
    expect(await statusOf(port, "/readyz")).toBe(503);
    await redis.restart();
    await until(async () => (await statusOf(port, "/readyz")) === 200);
    expect((await post(port, { id: "evt_early" })).status).toBe(202);
  });

  test("exits when the Redis that comes up evicts", async () => {
    const redis = await redisForTest(["--maxmemory-policy", "allkeys-lru"]);
    await redis.kill();
    const ingress = await startProcess(redis);
    await redis.restart();
    expect(await ingress.exited()).toBe(1);
    expect(ingress.output()).toContain("noeviction");
  });
});

test("an ingress on Postgres alone keeps event and body in the ledger and enqueues the identity alone", async () => {
  const database = await migratedDatabase();
  const ingress = await startInProcess("ingress", config, {
    ...VARIABLES,
    DATABASE_URL: database.url,
  });
  const pool = new pg.Pool({ connectionString: database.url, max: 1 });
  onTestFinished(async () => {
    await ingress.close();
    await pool.end();
    await database.drop();
  });
  const port = portOf(ingress);
  await until(async () => (await statusOf(port, "/readyz")) === 200);
  const body = '{ "id":"evt_1",\n"x":"\\u0000" }';
  const answers = await Promise.all([post(port, body), post(port, body), post(port, body)]);
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 202]);
  const { rows } = await pool.query(
    "select e.event_id, e.status, convert_from(b.body, 'UTF8') as body" +
      " from millrace.events e join millrace.bodies b on (b.day, b.id) = (e.body_day, e.body_id)",
  );
  expect(rows).toMatchObject([{ event_id: "evt_1", status: "pending", body }]);
  const [job] = await until(async () => {
    const jobs = (await pool.query<{ data: string }>("select data::text from bullmq.job")).rows;
    return jobs.length === 1 && jobs;
  });
  expect(job?.data).not.toContain('"body":');
});

import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { main } from "@millrace/ingress";
import { createPool, migrate } from "@millrace/ledger";
import { Queue } from "bullmq";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describeOnRedis, startRedis, type TestRedis } from "../support/redis.ts";
import { freePort } from "../support/free-port.ts";
import { startInProcess, type RoleInProcess } from "../support/in-process.ts";
import { startRole, type MillraceProcess } from "../support/millrace-process.ts";
import { scratchDatabase } from "../support/scratch-database.ts";
import { until } from "../support/until.ts";
import config from "./fixture/millrace.config.ts";
import { SECRET, signed } from "./plain-config.ts";
import { sendTo } from "./send-to.ts";

type Variables = Readonly<Record<string, string>>;

const VARIABLES: Variables = {
  MILLRACE_CONFIG: fileURLToPath(new URL("./fixture/millrace.config.ts", import.meta.url)),
  PLAIN_WEBHOOK_SECRET: SECRET,
  HOST: "127.0.0.1",
  INGRESS_PORT: "0",
};
const processes: MillraceProcess[] = [];
const inProcess: RoleInProcess[] = [];

async function startProcess(env: Variables): Promise<MillraceProcess> {
  const started = await startRole("ingress", { ...VARIABLES, ...env });
  processes.push(started);
  return started;
}

/** What must not start needs no process of its own. */
const mainInProcess = (env: Variables) => main({ ...VARIABLES, LOG_LEVEL: "silent", ...env });

/** Where only the answers are the point. */
async function portInProcess(env: Variables): Promise<number> {
  const started = await startInProcess("ingress", config, { ...VARIABLES, ...env });
  inProcess.push(started);
  return portOf(started);
}

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port);

async function endAll(): Promise<void> {
  await Promise.all(processes.splice(0).map((each) => each.end()));
  await Promise.all(inProcess.splice(0).map((each) => each.close()));
}

afterEach(endAll);

const post = (port: number, data: unknown) => sendTo(port, { source: "plain", ...signed(data) });
const statusOf = async (port: number, path: string) =>
  (await fetch(`http://127.0.0.1:${port}${path}`)).status;

describe("an ingress that must not start", () => {
  test("names the variable of each source without a secret", async () => {
    await expect(
      mainInProcess({ REDIS_URL: "redis://127.0.0.1:1", PLAIN_WEBHOOK_SECRET: "" }),
    ).rejects.toMatchObject({
      code: "missing_secret",
      message: expect.stringContaining("PLAIN_WEBHOOK_SECRET"),
    });
  });

  test("says what to set when it is given no event store", async () => {
    await expect(mainInProcess({})).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining("REDIS_URL"),
    });
  });
});

describeOnRedis("an ingress on Redis alone", () => {
  let redis: TestRedis;

  beforeEach(async () => {
    redis = await startRedis();
  });
  afterEach(async () => {
    await endAll();
    await redis.stop();
  });

  test("enqueues what is verified, and never loads the handlers", async () => {
    const ingress = await startProcess({ REDIS_URL: redis.url });
    const port = portOf(ingress);
    const canary = "canary-body-4711";
    expect((await post(port, { id: "evt_1", x: canary })).status).toBe(202);
    expect((await post(port, { id: "evt_1", x: canary })).status).toBe(200);
    expect((await sendTo(port, { source: "plain", body: canary })).status).toBe(401);
    expect(await statusOf(port, "/healthz")).toBe(200);
    expect(await statusOf(port, "/readyz")).toBe(200);
    expect(await statusOf(port, "/webhooks/plain")).toBe(405);

    const queue = new Queue("millrace-plain", { connection: { url: redis.url } });
    try {
      expect(await queue.getJobCounts("waiting", "prioritized")).toMatchObject({ waiting: 1 });
      const job = await queue.getJob("evt_1");
      expect(job?.data).toMatchObject({ source: "plain", id: "evt_1", type: "thing.happened" });
    } finally {
      await queue.close();
    }

    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
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
    expect(ingress.output()).not.toContain(canary);
    expect(ingress.output()).not.toContain(SECRET);
    expect(ingress.output()).not.toContain("loaded the handlers");
  });

  test("answers 503 in time while Redis hangs, and accepts when it goes on", async () => {
    const port = await portInProcess({ REDIS_URL: redis.url });
    expect((await post(port, { id: "evt_before" })).status).toBe(202);
    redis.freeze();
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => post(port, { id: `evt_hung_${index}` })),
    );
    // 1.6 s by default; one after the other they would take a minute.
    expect(performance.now() - startedMs).toBeLessThan(10_000);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
    expect(answers[0]?.headers["retry-after"]).toMatch(/^[1-5]$/);
    expect(await statusOf(port, "/readyz")).toBe(503);
    expect(await statusOf(port, "/healthz")).toBe(200);
    redis.thaw();
    await until(async () => (await post(port, { id: "evt_after" })).status < 300);
    expect(await statusOf(port, "/readyz")).toBe(200);
  });

  test("answers everything that it has read when it is stopped under load", async () => {
    const ingress = await startProcess({ REDIS_URL: redis.url });
    const port = portOf(ingress);
    const outcomes = new Map<string, number>();
    let go = true;
    let sent = 0;
    const sender = async () => {
      while (go) {
        const outcome = await post(port, { id: `evt_${sent++}` }).then(
          ({ status }) => String(status),
          (error: NodeJS.ErrnoException) => error.code ?? "?",
        );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        if (outcome === "ECONNREFUSED") return;
      }
    };
    const senders = Array.from({ length: 16 }, sender);
    await until(() => (outcomes.get("202") ?? 0) > 200);
    expect(await ingress.end("SIGTERM")).toBe(0);
    go = false;
    await Promise.all(senders);
    outcomes.delete("ECONNREFUSED");
    // A connection that was made and not yet accepted may be reset; nothing was read from it.
    outcomes.delete("ECONNRESET");
    outcomes.delete("503");
    expect([...outcomes.keys()]).toEqual(["202"]);

    const queue = new Queue("millrace-plain", { connection: { url: redis.url } });
    try {
      expect(await queue.getWaitingCount()).toBeGreaterThanOrEqual(outcomes.get("202") ?? 0);
    } finally {
      await queue.close();
    }
  });

  test("fails by name when its port is taken", async () => {
    const stranger = createServer().listen(0, "127.0.0.1");
    await once(stranger, "listening");
    const { port } = stranger.address() as AddressInfo;
    await expect(
      mainInProcess({ REDIS_URL: redis.url, INGRESS_PORT: String(port) }),
    ).rejects.toMatchObject({ code: "port_in_use" });
    stranger.close();
  });
});

describeOnRedis("an ingress whose Redis is not as it must be", () => {
  let redis: TestRedis | undefined;

  afterEach(async () => {
    await endAll();
    await redis?.stop();
    redis = undefined;
  });

  test("listens while Redis is away, answers 503, and accepts when it is there", async () => {
    redis = await startRedis();
    await redis.kill();
    const port = portOf(await startProcess({ REDIS_URL: redis.url }));
    const answer = await post(port, { id: "evt_early" });
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toMatch(/^[1-5]$/);
    expect(await statusOf(port, "/readyz")).toBe(503);
    await redis.restart();
    await until(async () => (await statusOf(port, "/readyz")) === 200);
    expect((await post(port, { id: "evt_early" })).status).toBe(202);
  });

  test("exits when the Redis that comes up evicts", async () => {
    redis = await startRedis({ args: ["--maxmemory-policy", "allkeys-lru"] });
    await redis.kill();
    const ingress = await startProcess({ REDIS_URL: redis.url });
    await redis.restart();
    expect(await ingress.exited()).toBe(1);
    expect(ingress.output()).toContain("noeviction");
  });

  test("does not start on a Redis without an AOF, unless allowed", async () => {
    redis = await startRedis({ args: ["--appendonly", "no"] });
    await expect(mainInProcess({ REDIS_URL: redis.url })).rejects.toMatchObject({
      code: "redis_volatile",
    });
    const port = await portInProcess({ REDIS_URL: redis.url, MILLRACE_REDIS_VOLATILE: "1" });
    expect((await post(port, { id: "evt_risky" })).status).toBe(202);
  });
});

describe("an ingress on Postgres alone", () => {
  let database: Awaited<ReturnType<typeof scratchDatabase>>;
  let pool: ReturnType<typeof createPool>;

  beforeEach(async () => {
    database = await scratchDatabase();
    pool = createPool({ url: database.url, max: 2, applicationName: "test" });
  });
  afterEach(async () => {
    await endAll();
    await pool.end();
    await database.drop();
  });

  test("keeps event and body in the ledger and enqueues the identity alone", async () => {
    await migrate({ pool });
    const port = await portInProcess({ DATABASE_URL: database.url });
    await until(async () => (await statusOf(port, "/readyz")) === 200);
    const body = '{ "id":"evt_1",\n"x":"\\u0000" }';
    const answers = await Promise.all([
      post(port, body),
      post(port, body),
      post(port, { id: "evt_2" }),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 202, 202]);
    expect((await post(port, body)).status).toBe(200);
    const { rows } = await pool.query(
      "select e.event_id, e.status, convert_from(b.body, 'UTF8') as body" +
        " from millrace.events e join millrace.bodies b on (b.day, b.id) = (e.body_day, e.body_id)" +
        " order by e.event_id",
    );
    expect(rows).toMatchObject([
      { event_id: "evt_1", status: "pending", body },
      { event_id: "evt_2", status: "pending" },
    ]);
    const readJobs = () => pool.query("select data::text from bullmq.job order by id");
    await until(async () => (await readJobs()).rows.length === 2);
    const jobs = (await readJobs()).rows;
    for (const { data } of jobs) expect(data).not.toContain('"body":');
  });

  test("does not start before the database is migrated", async () => {
    await expect(mainInProcess({ DATABASE_URL: database.url })).rejects.toMatchObject({
      code: "migration_needed",
    });
  });

  test("listens while Postgres is away", async () => {
    const away = `postgres://nobody@127.0.0.1:${await freePort()}/none`;
    const port = portOf(await startProcess({ DATABASE_URL: away }));
    expect((await post(port, { id: "evt_1" })).status).toBe(503);
    expect(await statusOf(port, "/readyz")).toBe(503);
  });
});

import { spawn } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { Redis } from "ioredis";
import pg from "pg";
import { cpuMs, postgresCpuMs, run } from "./processes.mjs";

const PREPARED = "prepared";

/** A Redis and a Postgres of the bench's own. */
export async function startServers(settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  const redis = await startRedis(folder);
  const postgres = await startEmbeddedPostgres({
    dataDir: join(folder, "postgres"),
    database: PREPARED,
    settings,
  });
  const shared = {
    REDIS_URL: redis.url,
    MILLRACE_QUEUE_KEY: randomBytes(32).toString("hex"),
    BENCH_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
    MILLRACE_CONFIG: fileURLToPath(new URL("millrace/millrace.config.mjs", import.meta.url)),
    HOST: "127.0.0.1",
    INGRESS_PORT: "0",
    WORKER_PORT: "0",
  };
  const redises = [redis];
  const opened = new Set();
  let number = 0;
  let last;

  async function fresh(name) {
    if (last !== undefined) await drop(last);
    last = undefined;
    number += 1;
    const database = name ?? `bench_${number}`;
    await askOnce(postgres.url, `CREATE DATABASE ${database} TEMPLATE ${PREPARED}`);
    const url = new URL(postgres.url);
    url.pathname = `/${database}`;
    const itsRedis = name === undefined ? redis : await startRedis(folder, name);
    if (itsRedis !== redis) redises.push(itsRedis);
    const env = { ...shared, REDIS_URL: itsRedis.url, DATABASE_URL: url.href };
    const stores = await openStores(env, { redis: itsRedis, postgres });
    opened.add(stores);
    if (name === undefined) last = { stores, database };
    await stores.redis.flushall();
    // A checkpoint in the middle of one contender's turn would be its cost.
    await stores.query("CHECKPOINT");
    return stores;
  }

  async function drop({ stores, database }) {
    opened.delete(stores);
    await stores.close();
    await askOnce(postgres.url, `DROP DATABASE ${database} WITH (FORCE)`);
  }

  async function stop() {
    for (const stores of opened) await stores.close();
    await postgres.stop("immediate");
    for (const server of redises) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }

  let stopping;
  try {
    await run(["migrate"], { ...shared, DATABASE_URL: postgres.url });
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    fresh,
    versions: () => versions(shared.REDIS_URL, postgres.url),
    stop: () => (stopping ??= stop()),
  };
}

async function openStores(env, servers) {
  // One connection for as long as the stores are used: its backend's CPU is not counted.
  const pool = new pg.Pool({
    connectionString: env.DATABASE_URL,
    max: 1,
    idleTimeoutMillis: 0,
  });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const redis = new Redis(env.REDIS_URL);
  redis.on("error", () => {});
  /** @type {(text: string, values?: unknown[]) => Promise<any[]>} */
  const query = async (text, values) => (await pool.query(text, values)).rows;
  const [{ pid }] = await query("SELECT pg_backend_pid() AS pid");
  return {
    env,
    redis,
    query,
    count: async (table) => (await query(`SELECT count(*)::int AS n FROM ${table}`))[0].n,
    cpuMs: () => ({
      redis: servers.redis.cpuMs(),
      postgres: postgresCpuMs(servers.postgres.pid, pid),
    }),
    close: async () => {
      redis.disconnect();
      await pool.end();
    },
  };
}

async function startRedis(parent, name = "redis") {
  const folder = mkdtempSync(join(parent, `${name}-`));
  const port = await freePort();
  const args = ["--port", port, "--bind", "127.0.0.1", "--dir", folder, "--save", ""];
  const child = spawn("redis-server", [...args, "--appendonly", "yes"].map(String), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  ended.catch(() => {});
  await new Promise((/** @type {(value?: void) => void} */ resolve, reject) => {
    child.once("error", () => reject(new Error("Cannot bench: no redis-server on PATH")));
    child.stdout.on("data", (data) => String(data).includes("Ready to accept") && resolve());
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    cpuMs: () => cpuMs(child.pid),
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function versions(redisUrl, postgresUrl) {
  const redis = new Redis(redisUrl);
  const info = await redis.info("server");
  redis.disconnect();
  const [{ server_version: postgres }] = await askOnce(postgresUrl, "SHOW server_version");
  return { redis: /redis_version:(\S+)/.exec(info)[1], postgres };
}

async function askOnce(url, text) {
  const client = new pg.Client({ connectionString: url });
  // The bench may be interrupted, and its Postgres with it.
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

async function freePort() {
  const server = createServer().listen(randomInt(10_000, 30_000), "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  server.close();
  return port;
}

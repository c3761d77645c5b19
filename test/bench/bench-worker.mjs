import { createHash, randomUUID } from "node:crypto";
import { createRedisQueues } from "@millrace/queue";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { LOADS } from "./loads.mjs";
import { parentOf, postgresCpuMs, start } from "./processes.mjs";
import { inTurn, printTable } from "./rounds.mjs";

const POLL_MS = 20;
/** The clock starts when a fifth is done and stops before the last, so that no start-up is measured. */
const MEASURED = { from: 0.2, to: 0.95 };
const WHOLE_WITHIN_MS = 120_000;
const body = JSON.stringify({ type: "bench.event", data: { text: "x".repeat(1_330) } });

/**
 * Events a second that each worker drains, and the CPU of worker, Redis and Postgres for one. `load` is
 * what the handlers do (loads.mjs).
 */
export async function benchWorker(env, redisServer, { rounds, events, concurrency, load }) {
  const pool = new pg.Pool({ connectionString: env.DATABASE_URL, max: 1 });
  pool.on("error", () => {});
  const redis = new Redis(env.REDIS_URL);
  const { rows } = await pool.query("SELECT pg_backend_pid() AS pid");
  const postgresPid = parentOf(rows[0].pid);
  const loaded = { ...env, BENCH_LOAD: load, BENCH_CONCURRENCY: String(concurrency) };
  const effects = async () => (await pool.query("SELECT count(*)::int FROM effects")).rows[0].count;
  const contenders = {
    "usual: a transaction, five round trips": {
      fill: fillUsual,
      launch: () => start("contenders/usual-worker.mjs", [], loaded),
      count: effects,
    },
    "millrace worker": {
      fill: fillMillrace,
      launch: () => start("millrace", ["worker"], loaded),
      count: effects,
    },
    "millrace worker, MILLRACE_GROUPS=on": {
      fill: fillMillrace,
      launch: () => start("millrace", ["worker"], { ...loaded, MILLRACE_GROUPS: "on" }),
      count: effects,
    },
    "ceiling: BullMQ with a handler that does nothing": {
      fill: fillUsual,
      launch: () => start("contenders/no-op-worker.mjs", [], loaded),
      count: () => redis.zcard("bull:usual:completed"),
    },
  };
  if (load !== "insert") delete contenders["ceiling: BullMQ with a handler that does nothing"];
  const results = await inTurn(contenders, rounds, async ({ fill, launch, count }) => {
    await redis.flushall();
    await pool.query("TRUNCATE effects, usual_events");
    await pool.query("UPDATE counters SET events = 0");
    await fill(env, events);
    const worker = await launch();
    const cpuMs = () => ({
      worker: worker.cpuMs(),
      redis: redisServer.cpuMs(),
      postgres: postgresPid === undefined ? 0 : postgresCpuMs(postgresPid),
    });
    const drained = await drain({ count, cpuMs }, events);
    await worker.stop();
    if (count === effects) await checkWork(pool, events, load);
    return drained;
  });
  const title = `Worker: ${LOADS[load].title}; ${events} events of 1.4 kB, ${concurrency} at once`;
  printTable(title, results);
  redis.disconnect();
  await pool.end();
  return results;
}

async function drain({ count, cpuMs }, events) {
  let began;
  let measured;
  let wholeBy;
  for (;;) {
    const done = await count();
    const now = performance.now();
    if (began === undefined && done >= events * MEASURED.from) began = { now, done, cpu: cpuMs() };
    if (measured === undefined && done >= events * MEASURED.to) {
      const drained = done - began.done;
      const cpuUs = Object.fromEntries(
        Object.entries(cpuMs()).map(([name, ms]) => [
          name,
          ((ms - began.cpu[name]) * 1e3) / drained,
        ]),
      );
      measured = { rate: drained / ((now - began.now) / 1_000), cpuUs };
      wholeBy = now + WHOLE_WITHIN_MS;
    }
    if (done >= events) return measured;
    if (now > wholeBy) throw new Error(`Cannot count ${events} events: there are only ${done}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Each event has its effect, and has it once. */
async function checkWork(pool, events, load) {
  const { rows } = await pool.query(
    `SELECT count(*)::int AS rows, count(DISTINCT event_id)::int AS events,
      (SELECT sum(events)::int FROM counters) AS counted FROM effects`,
  );
  const [{ rows: written, events: distinct, counted }] = rows;
  const isWhole = written === events && distinct === events;
  if (isWhole && (load !== "contended" || counted === events)) return;
  throw new Error(
    `Cannot use this round: ${events} events left ${written} effects of ${distinct} events, and ${counted} counted`,
  );
}

async function fillUsual(env, events) {
  const { hostname, port } = new URL(env.REDIS_URL);
  const queue = new Queue("usual", { connection: { host: hostname, port: Number(port) } });
  const run = randomUUID();
  for (let at = 0; at < events; at += 500) {
    const length = Math.min(500, events - at);
    await queue.addBulk(
      Array.from({ length }, (_, index) => ({
        name: "bench.event",
        data: JSON.parse(body),
        opts: { jobId: `msg_${run}_${at + index}`, attempts: 12 },
      })),
    );
  }
  await queue.close();
}

async function fillMillrace(env, events) {
  const queues = createRedisQueues({
    url: env.REDIS_URL,
    sources: ["bench"],
    role: "cli",
    notify: () => {},
  });
  await queues.ping();
  const run = randomUUID();
  const bytes = Buffer.from(body);
  const bodyHash = createHash("sha256").update(bytes).digest("base64url");
  for (let at = 0; at < events; at += 200) {
    const length = Math.min(200, events - at);
    const batch = Array.from({ length }, (_, index) => ({
      source: "bench",
      eventId: `msg_${run}_${at + index}`,
      generation: 0,
      type: "bench.event",
      acceptedAtMs: Date.now(),
      bodyHash,
      headers: {},
      unsigned: false,
      body: bytes,
    }));
    const refused = (await queues.enqueue(batch)).find((placement) => placement !== "accepted");
    if (refused !== undefined) throw new Error("Cannot fill the queue", { cause: refused });
  }
  await queues.close();
}

import { createHash, randomUUID } from "node:crypto";
import { createRedisQueues } from "@millrace/queue";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { start } from "./processes.mjs";
import { inTurn, printTable } from "./rounds.mjs";

const POLL_MS = 10;
const body = JSON.stringify({ type: "bench.event", data: { text: "x".repeat(1_330) } });

/** Events a second that each worker drains, with one INSERT a handler, and its CPU for one. */
export async function benchWorker(env, { rounds, events }) {
  const pool = new pg.Pool({ connectionString: env.DATABASE_URL, max: 1 });
  const redis = new Redis(env.REDIS_URL);
  const effects = async () => (await pool.query("SELECT count(*)::int FROM effects")).rows[0].count;
  const finished = async () => redis.zcard("bull:usual:completed");
  const contenders = {
    "usual: a transaction, five round trips": {
      fill: fillUsual,
      launch: () => start("contenders/usual-worker.mjs", [], env),
      count: effects,
    },
    "millrace worker": {
      fill: fillMillrace,
      launch: () => start("millrace", ["worker"], env),
      count: effects,
    },
    "ceiling: BullMQ with a handler that does nothing": {
      fill: fillUsual,
      launch: () => start("contenders/no-op-worker.mjs", [], env),
      count: finished,
    },
  };
  const results = await inTurn(contenders, rounds, async ({ fill, launch, count }) => {
    await redis.flushall();
    await pool.query("TRUNCATE effects, usual_events");
    await fill(env, events);
    const worker = await launch();
    const drained = await drain(worker, count, events);
    await worker.stop();
    return drained;
  });
  printTable(`Worker: ${events} events of 1.4 kB, 20 at once, one process`, results);
  redis.disconnect();
  await pool.end();
}

// The clock starts when the first tenth is done, so that no start-up is measured.
async function drain(worker, count, events) {
  let began;
  for (;;) {
    const done = await count();
    if (began === undefined && done >= events / 10) {
      began = { at: performance.now(), done, cpuMs: worker.cpuMs() };
    }
    if (done >= events) {
      const seconds = (performance.now() - began.at) / 1_000;
      const drained = done - began.done;
      return {
        rate: drained / seconds,
        cpuUs: ((worker.cpuMs() - began.cpuMs) * 1_000) / drained,
      };
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
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

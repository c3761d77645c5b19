// Lists the product files of which a function runs for one warm Stripe delivery, and for one attempt.
import { createHmac, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { main as startIngress } from "@millrace/ingress";
import { main as startWorker } from "@millrace/worker";
import pg from "pg";
import { readOptions } from "../../scripts/read-options.mjs";
import { freePort, run, start, startRedis } from "../bench/processes.mjs";
import { inEvery, startCoverage } from "./coverage.mjs";
import { report } from "./report.mjs";

const HELP = `node scripts/executed-files.mjs [--out <file>] [--title <text>]

Lists the product files of which at least one function runs
  - for one Stripe delivery, from the socket to the answer 202;
  - for one attempt of an event, from BullMQ's callback to the COMMIT.

Ingress and worker run in this process on a real Postgres and a real Redis (redis-server on PATH).
After a warm-up V8's precise coverage counts calls in windows of one event each; a function is listed
when it runs in every window, so timers that run beside an event do not count.

  --out <file>    writes the list, as Markdown, there too
  --title <text>  its title`;

const WARM_UP = 50;
const WINDOWS = 20;
const SECRET = `whsec_${randomBytes(32).toString("hex")}`;
const CONFIG = fileURLToPath(new URL("millrace.config.mjs", import.meta.url));

const options = readOptions(
  { out: { type: "string" }, title: { type: "string", default: "Files that run for an event" } },
  HELP,
);
const folder = mkdtempSync(join(tmpdir(), "millrace-executed-files-"));
const [postgres, redis] = await Promise.all([
  startEmbeddedPostgres({ dataDir: join(folder, "postgres") }),
  startRedis(),
]);
const children = [];
try {
  const text = report(options.title, await measure());
  process.stdout.write(text);
  if (options.out !== undefined) writeFileSync(options.out, text);
} finally {
  await Promise.all(children.map((child) => child.stop()));
  await Promise.all([postgres.stop("immediate"), redis.stop()]);
  rmSync(folder, { recursive: true, force: true });
}
process.exit();

async function measure() {
  const env = {
    MILLRACE_CONFIG: CONFIG,
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    STRIPE_WEBHOOK_SECRET: SECRET,
    HOST: "127.0.0.1",
    INGRESS_PORT: String(await freePort()),
    WORKER_PORT: "0",
    LOG_LEVEL: "error",
  };
  await run(["migrate"], env);
  const pool = new pg.Pool({ connectionString: postgres.url, max: 1 });
  await pool.query("create table effects (event_id text)");
  const coverage = startCoverage();

  await startIngress(env);
  const delivery = await inWindows(async (number) => {
    coverage.take();
    await deliver(env.INGRESS_PORT, `evt_delivery_${number}`);
    return coverage.take();
  });

  // The events of the attempts come from another process, so that none of its files counts here.
  const other = await start("millrace", ["ingress"], { ...env, INGRESS_PORT: "0" });
  children.push(other);
  let committed;
  // The step at which BullMQ's callback knows that the ledger has committed.
  globalThis[Symbol.for("millrace.failpoint")] = (failpoint) => {
    if (failpoint === "worker.committed") committed?.(coverage.take());
  };
  await startWorker(env);
  await untilCompleted(pool, WARM_UP + WINDOWS);
  const attempt = await inWindows(async (number) => {
    const window = new Promise((resolve) => (committed = resolve));
    coverage.take();
    await deliver(other.port, `evt_attempt_${number}`);
    return await window;
  });
  await pool.end();
  return { delivery, attempt };
}

/** Runs warm-up rounds, then those that count, one after the other with a pause between. */
async function inWindows(round) {
  const windows = [];
  for (let number = 1; number <= WARM_UP + WINDOWS; number += 1) {
    const called = await round(number);
    if (number > WARM_UP) windows.push(called);
    // What is done after the answer, or after the COMMIT, is over by then.
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60));
  }
  return inEvery(windows);
}

async function untilCompleted(pool, count) {
  for (;;) {
    const { rows } = await pool.query(
      "select count(*)::int as n from webhook_events where status = 'completed'",
    );
    if (rows[0].n >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends an event as Stripe does. @throws when the answer is not 202. */
function deliver(port, id) {
  const body = JSON.stringify({
    id,
    object: "event",
    type: "payment_intent.succeeded",
    data: { object: { id: "pi_1", object: "payment_intent", amount_received: 100 } },
  });
  const seconds = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", SECRET).update(`${seconds}.${body}`).digest("hex");
  const headers = {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "stripe-signature": `t=${seconds},v1=${signature}`,
  };
  return new Promise((resolve, reject) => {
    const path = "/webhooks/stripe";
    const sent = request({ host: "127.0.0.1", port, path, method: "POST", headers }, (answer) => {
      answer.resume().once("end", () => {
        if (answer.statusCode === 202) resolve();
        else reject(new Error(`Cannot deliver ${id}: answered ${answer.statusCode}`));
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

// Runs the usual hand-written ingress and worker, ours, and a ceiling, in turn, on a Redis and a
// Postgres of its own, and prints medians as ratios of the usual.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { benchIngress } from "./bench-ingress.mjs";
import { benchWorker } from "./bench-worker.mjs";
import { LOADS } from "./loads.mjs";
import { readOptions } from "../../scripts/read-options.mjs";
import { run, startRedis } from "./processes.mjs";

const PARTS = ["ingress", "worker", "contended"];
const CONTENDED = ["contended", "failing", "slow"];
const NUMBERS = ["rounds", "seconds", "events", "concurrency"];

const values = readOptions(
  {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "5" },
    events: { type: "string", default: "10000" },
    concurrency: { type: "string", default: "20" },
    load: { type: "string", default: "insert" },
    json: { type: "string" },
  },
  `Usage: npm run bench -- [part ...] [options]

Parts (default: ingress and worker)
  ingress              deliveries that an ingress acknowledges
  worker               events that a worker drains
  contended            the same, with handlers that contend, fail, or take long

Options
  --rounds <n>         rounds of each contender, interleaved (default: 3)
  --seconds <n>        seconds that an ingress is measured in a round (default: 5)
  --events <n>         events that a worker drains in a round (default: 10000)
  --concurrency <n>    events that a worker handles at once (default: 20)
  --load <load>        what the handlers of "worker" do (default: insert):
${Object.entries(LOADS)
  .map(([name, { title }]) => `                         ${name.padEnd(10)} ${title}`)
  .join("\n")}
  --json <file>        write every round there
  -h, --help           this text

Rates are this machine's while it does whatever else it does: read the ratios. CPU is the figure that
holds on a busy machine.`,
  ({ words, load, ...given }) => {
    const unknown = words.find((word) => !PARTS.includes(word));
    if (unknown !== undefined) return `There is no part "${unknown}"`;
    if (!Object.hasOwn(LOADS, load)) return `There is no load "${load}"`;
    const odd = NUMBERS.find((name) => !/^[1-9]\d*$/.test(given[name]));
    return odd === undefined ? undefined : `--${odd} takes a whole number above 0`;
  },
  { words: true },
);
const options = Object.fromEntries(NUMBERS.map((name) => [name, Number(values[name])]));
const parts = values.words.length === 0 ? ["ingress", "worker"] : values.words;
const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
const redis = await startRedis();
const postgres = await startEmbeddedPostgres({ dataDir: join(folder, "postgres") });
const env = {
  REDIS_URL: redis.url,
  DATABASE_URL: postgres.url,
  BENCH_WEBHOOK_SECRET: `whsec_${randomBytes(32).toString("base64")}`,
  MILLRACE_CONFIG: fileURLToPath(new URL("millrace/millrace.config.mjs", import.meta.url)),
  HOST: "127.0.0.1",
  INGRESS_PORT: "0",
  WORKER_PORT: "0",
};
try {
  await run(["migrate"], env);
  const results = {};
  if (parts.includes("ingress")) results.ingress = await benchIngress(env, options);
  if (parts.includes("worker")) {
    const { load } = values;
    results[`worker, ${load}`] = await benchWorker(env, redis, { ...options, load });
  }
  if (parts.includes("contended")) {
    for (const load of CONTENDED) {
      results[`worker, ${load}`] = await benchWorker(env, redis, { ...options, load });
    }
  }
  if (values.json !== undefined) {
    writeFileSync(values.json, `${JSON.stringify({ options, results }, null, 2)}\n`);
  }
} finally {
  await postgres.stop("immediate");
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

// Runs the usual hand-written ingress and worker, ours, and a ceiling, in turn, on a Redis and a
// Postgres of its own, and prints medians as ratios of the usual.
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startEmbeddedPostgres } from "@millrace/embedded-postgres";
import { benchIngress } from "./bench-ingress.mjs";
import { benchWorker } from "./bench-worker.mjs";
import { readOptions } from "../../scripts/read-options.mjs";
import { run, startRedis } from "./processes.mjs";

const PARTS = ["ingress", "worker"];
const NUMBERS = ["rounds", "seconds", "events"];

const values = readOptions(
  {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "5" },
    events: { type: "string", default: "4000" },
    only: { type: "string" },
  },
  `Usage: npm run bench -- [options]

  --rounds <n>            rounds of each contender, interleaved (default: 3)
  --seconds <n>           seconds that an ingress is measured in a round (default: 5)
  --events <n>            events that a worker drains in a round (default: 4000)
  --only ingress|worker   only this part
  -h, --help              this text

Rates are this machine's while it does whatever else it does: read the ratios.`,
  ({ only, ...given }) => {
    if (only !== undefined && !PARTS.includes(only)) return "--only takes ingress or worker";
    const odd = NUMBERS.find((name) => !/^[1-9]\d*$/.test(given[name]));
    return odd === undefined ? undefined : `--${odd} takes a whole number above 0`;
  },
);
const options = Object.fromEntries(NUMBERS.map((name) => [name, Number(values[name])]));
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
  if (values.only !== "worker") await benchIngress(env, options);
  if (values.only !== "ingress") await benchWorker(env, options);
} finally {
  await postgres.stop("immediate");
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

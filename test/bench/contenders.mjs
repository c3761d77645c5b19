import { start } from "./processes.mjs";

// `ingress` and `worker` start a process, with `env` besides the shared environment.

const launch = (script) => (env) => start(`contenders/${script}`, [], env);
// What fills the queues is loaded when it is needed: `--help` answers at once.
const fill =
  (name, options) =>
  async (...args) =>
    (await import("./fill.mjs"))[name](...args, options);
const role = (name) => (env) => start("millrace", [name], env);
const usualWaiting = ({ redis }) => redis.llen("bull:usual:wait");

export const usual = {
  name: "usual: Express, BullMQ, a transaction",
  ingress: launch("usual-ingress.mjs"),
  worker: launch("usual-worker.mjs"),
  fill: fill("fillUsual"),
  stored: usualWaiting,
};

export const usualPrepared = {
  ...usual,
  name: "usual, prepared statements",
  env: { BENCH_USUAL: "prepared" },
};

export const usualWithRows = {
  ...usual,
  name: "usual, with body and status",
  env: { BENCH_USUAL: "rows" },
};

export const insertOnly = {
  name: "usual with Postgres: Express, INSERT",
  ingress: launch("insert-ingress.mjs"),
  stored: ({ count }) => count("usual_events"),
};

export const pgBoss = {
  name: "pg-boss",
  ingress: launch("pg-boss-ingress.mjs"),
  worker: launch("pg-boss-worker.mjs"),
  fill: fill("fillPgBoss"),
  stored: ({ count }) => count("pgboss.job WHERE name = 'bench'"),
};

export const graphile = {
  name: "graphile-worker",
  ingress: launch("graphile-ingress.mjs"),
  worker: launch("graphile-worker.mjs"),
  fill: fill("fillGraphile"),
  stored: ({ count }) => count("graphile_worker._private_jobs"),
};

const roles = { ingress: role("ingress"), worker: role("worker"), figures: groupFigures };

async function groupFigures(workers) {
  let shared = 0;
  let jobs = 0;
  for (const { port } of workers) {
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    shared += sumOf(metrics, "millrace_worker_group_size_sum");
    jobs += sumOf(metrics, "millrace_worker_jobs_total");
  }
  return { "% in groups": (shared / Math.max(1, jobs)) * 100 };
}

function sumOf(metrics, name) {
  const lines = metrics.split("\n").filter((line) => line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

export const millrace = {
  ...roles,
  name: "millrace",
  env: { MILLRACE_GROUPS: "on" },
  fill: fill("fillMillrace"),
  stored: ({ redis }) => redis.llen("bull:millrace-bench:wait"),
};

export const millraceGroupsOff = {
  ...millrace,
  name: "millrace, MILLRACE_GROUPS=off",
  env: { MILLRACE_GROUPS: "off" },
};

export const millraceAlone = {
  ...millrace,
  name: "millrace, groups: false",
  env: { MILLRACE_GROUPS: "on", BENCH_GROUPS: "false" },
};

export const millraceLedger = {
  ...roles,
  name: 'millrace, ack: "ledger"',
  env: { MILLRACE_GROUPS: "on", BENCH_ACK: "ledger" },
  fill: fill("fillMillrace", { ledger: true }),
  stored: ({ count }) => count("millrace.events"),
};

const onPostgres = (contender) => ({
  ...contender,
  name: `${contender.name}, queue on Postgres`,
  env: { ...contender.env, REDIS_URL: undefined },
  stored: undefined,
});

export const usualOnPostgres = onPostgres(usual);
export const millraceOnPostgres = onPostgres(millrace);
export const millraceOnPostgresGroupsOff = onPostgres(millraceGroupsOff);

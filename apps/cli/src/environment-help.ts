import { formatTable } from "./events/format-table.ts";

/** Every variable that is read, its default and its meaning. */
const VARIABLES: readonly (readonly [name: string, fallback: string, meaning: string])[] = [
  ["MILLRACE_CONFIG", "", "the config; without it ./millrace.config.ts"],
  ["DATABASE_URL", "", "the ledger's Postgres; `start` brings its own without it"],
  ["REDIS_URL", "", "the queue's Redis; without it the queue is on Postgres"],
  ["<SOURCE>_WEBHOOK_SECRET", "", "a source's secrets, with commas; ..._FILE names a file"],
  ["INGRESS_PORT", "3000", "webhooks; under `start` each port may be the next free one"],
  ["DASHBOARD_PORT", "3001", "its pages and its API"],
  ["WORKER_PORT", "3002", "health and metrics"],
  ["HOST", "127.0.0.1", "0.0.0.0 for an ingress or worker run alone"],
  ["DASHBOARD_USER", "", "its operator; beyond loopback it or a token is wanted"],
  ["DASHBOARD_PASSWORD", "", "the operator's password"],
  ["DASHBOARD_VIEWER_USER", "", "a user who may look and change nothing"],
  ["DASHBOARD_VIEWER_PASSWORD", "", "the viewer's password"],
  ["DASHBOARD_TOKEN", "", "an operator's bearer tokens for programs, with commas"],
  ["DASHBOARD_VIEWER_TOKEN", "", "a viewer's, such as Prometheus'"],
  ["DASHBOARD_HOSTS", "", "further names it is reached by: dash.example.com,..."],
  ["MILLRACE_DATA_DIR", ".millrace", "what `start` keeps: data, secrets, run.json"],
  ["MILLRACE_REDIS_VOLATILE", "0", "1 takes a Redis without AOF"],
  ["LOG_LEVEL", "info", "or trace, debug (shows stacks), warn, error, fatal, silent"],
];

/** The environment as a table for `millrace --help`. */
export function environmentHelp(): string {
  const rows = VARIABLES.map(([name, fallback, meaning]) => [`  ${name}`, fallback, meaning]);
  return `Environment (a file .env is honoured; what is set goes before it):\n${formatTable(rows)}`;
}

import { formatTable } from "./terminal-text.ts";

/** Every environment variable, its default and its meaning. */
const VARIABLES: readonly (readonly [name: string, fallback: string, meaning: string])[] = [
  ["MILLRACE_CONFIG", "", "path of the config (default: ./millrace.config.ts)"],
  ["DATABASE_URL", "", "Postgres for the ledger; if unset, `start` runs its own"],
  ["DATABASE_SESSION_URL", "", "Postgres itself, where DATABASE_URL is a pooler"],
  ["RETENTION_DATABASE_URL", "", "a login for a worker's retention; default: DATABASE_URL"],
  ["REDIS_URL", "", "Redis for the queue; if unset, the queue is on Postgres"],
  ["REDIS_CA_FILE", "", "private CA of a rediss:// REDIS_URL, a PEM file"],
  ["MILLRACE_QUEUE_KEY", "", "keys that sign jobs on Redis; `start` makes one"],
  ["<SOURCE>_WEBHOOK_SECRET", "", "a source's secrets, separated by commas; or ..._FILE"],
  ["INGRESS_PORT", "3000", "port for webhooks; `start` takes the next free one"],
  ["DASHBOARD_PORT", "3001", "port for the dashboard and its API"],
  ["WORKER_PORT", "3002", "port for the worker's health and metrics"],
  ["HOST", "127.0.0.1", "listen address; 0.0.0.0 for a single ingress or worker"],
  ["DASHBOARD_USER", "", "operator's name; this or a token is required off-host"],
  ["DASHBOARD_PASSWORD", "", "the operator's password"],
  ["DASHBOARD_VIEWER_USER", "", "user name with read-only access"],
  ["DASHBOARD_VIEWER_PASSWORD", "", "the viewer's password"],
  ["DASHBOARD_TOKEN", "", "bearer tokens with operator access, separated by commas"],
  ["DASHBOARD_VIEWER_TOKEN", "", "read-only bearer tokens, for example for Prometheus"],
  ["DASHBOARD_TOKENS", "", "the same with names for the audit: deploy:token,ci:token"],
  ["DASHBOARD_VIEWER_TOKENS", "", "read-only tokens with names"],
  ["DASHBOARD_HOSTS", "", "additional host names of the dashboard: dash.example.com,..."],
  ["TRUST_PROXY", "", "whose X-Forwarded-For counts: proxies (1), or addresses"],
  ["MILLRACE_DATA_DIR", ".millrace", "where `start` keeps data, secrets, and run.json"],
  ["MILLRACE_REDIS_VOLATILE", "0", "1 accepts a Redis without AOF"],
  ["MILLRACE_GROUPS", "on", "off gives each event a transaction of its own"],
  ["LOG_LEVEL", "info", "or trace, debug (shows stacks), warn, error, fatal, silent"],
];

/** The environment variables as a table for `millrace --help`. */
export function environmentHelp(): string {
  const rows = VARIABLES.map(([name, fallback, meaning]) => [`  ${name}`, fallback, meaning]);
  return `Environment (a .env file is read; variables already set take precedence):\n${formatTable(rows)}`;
}

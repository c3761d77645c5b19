import { MillraceError, readEnvironment, type Environment } from "@millrace/core";
import { checkSchema, createLedger, createPool } from "@millrace/ledger";
import { createPostgresQueues, createRedisQueues, type Notify, type Queues } from "@millrace/queue";
import {
  createLogger,
  createRegistry,
  createErrorLog,
  loadConfig,
  onTermination,
  notifyParent,
} from "@millrace/service";
import { createDashboard } from "./create-dashboard.ts";
import { checkOptions, ledgerConnections, type DashboardOptions } from "./dashboard-options.ts";
import { credentialsOf } from "./security/credentials.ts";

/**
 * Runs a dashboard in this process. Resolves when it listens; SIGTERM and SIGINT end the process.
 * A Redis that is away does not keep it from showing the ledger.
 *
 * @throws `invalid_config` (also for a host beyond loopback without credentials),
 * `config_not_found`, `port_in_use`, `migration_needed`, `database_unavailable`,
 * `database_unreachable`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const environment = readEnvironment(env);
  const databaseUrl = requireDatabase(environment);
  const options = optionsOf(environment);
  checkOptions(options);
  const { config } = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const logger = createLogger({ role: "dashboard", level: environment.LOG_LEVEL });
  const trouble = createErrorLog(logger);
  const pool = createPool({
    url: databaseUrl,
    max: ledgerConnections,
    applicationName: "millrace-dashboard",
    onError: (error) => trouble("postgres", error),
  });
  let queues: Queues | undefined;
  try {
    await checkSchema(pool);
    queues = await openQueues(environment.REDIS_URL, {
      databaseUrl,
      sources: Object.keys(config.sources),
      notify: (notice) => {
        if (notice.kind === "background_error") trouble(`queue: ${notice.cause}`, notice.error);
      },
    });
    const ledger = createLedger({ pool });
    const opened = queues;
    const checks = { ledger: () => ledger.reads.ping(), queue: () => opened.ping() };
    const registry = createRegistry({ role: "dashboard" });
    const dashboard = createDashboard(
      { ledger, queues, checks, logger, registry },
      {
        ...options,
        compare: { graceMs: config.reconciler.graceMs, keysDays: config.retention.keysDays },
      },
    );
    const port = await dashboard.listen({ port: environment.DASHBOARD_PORT });
    onTermination(logger, async () => {
      await dashboard.close();
      await opened.close();
      await pool.end();
    });
    logger.info({ host: options.host, port }, "listening");
    notifyParent({ kind: "listening", role: "dashboard", port });
  } catch (error) {
    await queues?.close();
    await pool.end();
    throw error;
  }
}

function requireDatabase({ DATABASE_URL }: Environment): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new MillraceError(
    "invalid_config",
    "Cannot start the dashboard: DATABASE_URL is not set. Set it to the ledger's Postgres, such as" +
      " postgres://user:password@127.0.0.1:5432/app, or run `millrace start`, which brings its own",
  );
}

function optionsOf(environment: Environment): DashboardOptions {
  const hosts = (environment.DASHBOARD_HOSTS ?? "").split(",").map((host) => host.trim());
  return {
    host: environment.HOST ?? "127.0.0.1",
    hosts: hosts.filter((host) => host !== ""),
    credentials: credentialsOf(environment),
  };
}

async function openQueues(
  redisUrl: string | undefined,
  options: { databaseUrl: string; sources: readonly string[]; notify: Notify },
): Promise<Queues> {
  const { databaseUrl, sources, notify } = options;
  return redisUrl === undefined
    ? await createPostgresQueues({ url: databaseUrl, sources, role: "dashboard", notify })
    : createRedisQueues({ url: redisUrl, sources, role: "dashboard", notify });
}

import { openDashboard, requireDatabase } from "@millrace/connect";
import { hasCode, readEnvironment, type Environment } from "@millrace/core";
import {
  createLogger,
  createRegistry,
  createErrorLog,
  loadConfig,
  onTermination,
  notifyParent,
  refuseExampleSecrets,
} from "@millrace/service";
import { checkOptions, createDashboard, type DashboardOptions } from "./create-dashboard.ts";
import { credentialsOf, listOf } from "./security/credentials.ts";

/**
 * Resolves when it listens, which waits for Postgres; SIGTERM and SIGINT end the process. It shows
 * the ledger without Redis.
 * @throws `invalid_config` (also for a host beyond loopback without credentials), `example_secret`,
 * `config_not_found`, `port_in_use`, `postgres_too_old`, `unsupported_isolation`, `missing_rights`,
 * `migration_needed`, `redis_topology`, `queue_in_use`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const environment = readEnvironment(env);
  requireDatabase(environment, "dashboard");
  const options = optionsOf(environment);
  checkOptions(options);
  refuseExampleSecrets({ env, host: options.host });
  const { config } = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const logger = createLogger({ role: "dashboard", level: environment.LOG_LEVEL });
  const stores = openDashboard(environment, config, { onError: createErrorLog(logger) });
  let dashboard: ReturnType<typeof createDashboard> | undefined;
  onTermination(logger, async () => {
    await dashboard?.close();
    await stores.close();
  });
  try {
    const { ledger, queues } = await stores.opened;
    const registry = createRegistry({ role: "dashboard" });
    dashboard = createDashboard({ ledger, queues, logger, registry }, { ...options, config });
    const port = await dashboard.listen({ port: environment.DASHBOARD_PORT });
    logger.info({ host: options.host, port }, "listening");
    notifyParent({ kind: "listening", role: "dashboard", port });
  } catch (error) {
    if (hasCode(error, "shutting_down")) return;
    await stores.close();
    throw error;
  }
}

function optionsOf(environment: Environment): Omit<DashboardOptions, "config"> {
  const trusted = environment.TRUST_PROXY ?? "0";
  return {
    host: environment.HOST ?? "127.0.0.1",
    hosts: listOf(environment.DASHBOARD_HOSTS),
    trustProxy: /^\d+$/.test(trusted) ? Number(trusted) : listOf(trusted),
    credentials: credentialsOf(environment),
  };
}

import { openWorker, requireDatabase, warnIfUnsigned } from "@millrace/connect";
import { hasCode, readEnvironment } from "@millrace/core";
import {
  createLogger,
  loadConfig,
  loadHandlers,
  onTermination,
  logUnhandledRejections,
  notifyParent,
  openTracing,
  projectDirOf,
  refuseExampleSecrets,
  secretsToHide,
} from "@millrace/service";
import { createWorkerRole } from "./worker-role.ts";

/**
 * Resolves when the worker takes jobs. SIGTERM and SIGINT end the process.
 * @throws `invalid_config`, `config_not_found`, `example_secret`, `handlers_not_loaded`,
 * `port_in_use`, `postgres_too_old`, `unsupported_isolation`, `missing_rights`, `migration_needed`,
 * `too_many_connections`, `redis_evicts`, `redis_volatile`, `queue_key_missing`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const environment = readEnvironment(env);
  requireDatabase(environment, "worker");
  const host = environment.HOST ?? "0.0.0.0";
  refuseExampleSecrets({ env, host });
  const loaded = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const { config } = loaded;
  const handlers = await loadHandlers(config, env);
  const logger = createLogger({ role: "worker", level: environment.LOG_LEVEL });
  logUnhandledRejections(logger);
  warnIfUnsigned(environment, logger);
  const role = createWorkerRole({
    config,
    handlers,
    logger,
    dashboardUrl: environment.DASHBOARD_URL,
    projectDir: projectDirOf(loaded),
    secrets: secretsToHide(config, env),
    groups: environment.MILLRACE_GROUPS === "on",
    tracing: await openTracing((message) => logger.warn(message)),
    onLost: () => process.exit(1),
    openStores: (watch) => openWorker(environment, config, watch),
  });
  onTermination(logger, () => role.close());
  try {
    const port = await role.listen({ port: environment.WORKER_PORT, host });
    logger.info({ host, port }, "listening");
    notifyParent({ kind: "listening", role: "worker", port });
    await role.start();
  } catch (error) {
    if (hasCode(error, "shutting_down")) return;
    await role.close();
    throw error;
  }
}

import { isMillraceError, MillraceError, readEnvironment, type Environment } from "@millrace/core";
import { createPool } from "@millrace/ledger";
import {
  checkRedis,
  connectionsWanted,
  createPostgresQueues,
  createRedisQueues,
  type Notify,
  type Queues,
} from "@millrace/queue";
import {
  createLogger,
  createErrorLog,
  archiveDirOf,
  loadConfig,
  loadHandlers,
  onTermination,
  logUnhandledRejections,
  notifyParent,
} from "@millrace/service";
import { ledgerConnections } from "./connection-budget.ts";
import { createWorkerRole } from "./worker-role.ts";

/**
 * Runs a worker in this process. Resolves when it takes jobs, which waits for Postgres and the
 * queue; SIGTERM and SIGINT end the process.
 *
 * @throws `invalid_config`, `config_not_found`, `handlers_not_loaded`, `port_in_use`,
 * `migration_needed`, `too_many_connections`, `redis_evicts`, `redis_volatile`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const environment = readEnvironment(env);
  const databaseUrl = requireDatabase(environment);
  const loaded = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const { config } = loaded;
  const handlers = await loadHandlers(config);
  const logger = createLogger({ role: "worker", level: environment.LOG_LEVEL });
  logUnhandledRejections(logger);
  const trouble = createErrorLog(logger);

  const poolMax = ledgerConnections(config.worker.concurrency);
  const role = createWorkerRole({
    config,
    handlers,
    logger,
    archiveDir: archiveDirOf(loaded),
    pool: createPool({
      url: databaseUrl,
      max: poolMax,
      applicationName: "millrace-worker",
      onError: (error) => trouble("postgres", error),
    }),
    openQueues: (notify) =>
      openQueues(environment, { databaseUrl, sources: Object.keys(config.sources), notify }),
    connectionsWanted:
      poolMax + (environment.REDIS_URL === undefined ? connectionsWanted("worker") : 0),
  });
  onTermination(logger, () => role.close());
  try {
    const host = environment.HOST ?? "0.0.0.0";
    const port = await role.listen({ port: environment.WORKER_PORT, host });
    logger.info({ host, port }, "listening");
    notifyParent({ kind: "listening", role: "worker", port });
    await role.start();
  } catch (error) {
    // A signal that came during the start ends the process by itself.
    if (isMillraceError(error) && error.code === "shutting_down") return;
    await role.close();
    throw error;
  }
}

function requireDatabase({ DATABASE_URL }: Environment): string {
  if (DATABASE_URL !== undefined) return DATABASE_URL;
  throw new MillraceError(
    "invalid_config",
    "Cannot start the worker: DATABASE_URL is not set. Set it to the ledger's Postgres, such as" +
      " postgres://user:password@127.0.0.1:5432/app, or run `millrace start`, which brings its own",
  );
}

async function openQueues(
  { REDIS_URL, MILLRACE_REDIS_VOLATILE }: Environment,
  options: { databaseUrl: string; sources: readonly string[]; notify: Notify },
): Promise<Queues> {
  const { databaseUrl, sources, notify } = options;
  if (REDIS_URL === undefined) {
    return await createPostgresQueues({ url: databaseUrl, sources, role: "worker", notify });
  }
  await checkRedis(REDIS_URL, { allowVolatile: MILLRACE_REDIS_VOLATILE === "1" });
  return createRedisQueues({ url: REDIS_URL, sources, role: "worker", notify });
}

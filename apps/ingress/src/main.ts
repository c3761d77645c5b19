import cluster from "node:cluster";
import { openStores } from "@millrace/connect";
import { readEnvironment } from "@millrace/core";
import {
  createLogger,
  createRegistry,
  createErrorLog,
  loadConfig,
  onTermination,
  resolveSecrets,
  notifyParent,
} from "@millrace/service";
import { createIngress, type Ingress } from "./create-ingress.ts";
import { shareMetrics } from "./shared-metrics.ts";

/**
 * Runs an ingress in this process. Resolves when it listens, also while Redis or Postgres is away:
 * then events go to the other one, and are answered 503 while there is none. SIGTERM and SIGINT end
 * the process. It may be one of several that listen on one port, in a cluster of Node.
 *
 * @throws `invalid_config`, `config_not_found`, `missing_secret`, `port_in_use`, `redis_evicts`,
 * `redis_volatile`, `migration_needed`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const environment = readEnvironment(env);
  const { config } = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const secrets = resolveSecrets(config, env);
  const logger = createLogger({ role: "ingress", level: environment.LOG_LEVEL });
  const stores = openStores(environment, config, "ingress", {
    onError: createErrorLog(logger),
    onIntakeNotice: (notice) => ingress.notify(notice),
  });
  const { worker } = cluster;
  const registry = createRegistry({ role: "ingress", ...(worker && { process: `${worker.id}` }) });
  let ingress: Ingress;
  try {
    ingress = createIngress({
      config,
      secrets,
      logger,
      registry,
      ...(worker && { shared: shareMetrics(registry) }),
      stores: stores.eventStores,
      redelivery: stores.redelivery,
      pressure: () => stores.pressure(),
    });
    await stores.tried;
    const host = environment.HOST ?? "0.0.0.0";
    const port = await ingress.listen({ port: environment.INGRESS_PORT, host });
    const close = async () => {
      await ingress.close();
      await stores.close();
    };
    onTermination(logger, close);
    logger.info({ host, port, sources: Object.keys(config.sources) }, "listening");
    notifyParent({ kind: "listening", role: "ingress", port });
    stores.opened.catch(async (error: unknown) => {
      logger.fatal({ err: error }, "the storage cannot be used");
      await close();
      process.exit(1);
    });
  } catch (error) {
    await stores.close();
    throw error;
  }
}

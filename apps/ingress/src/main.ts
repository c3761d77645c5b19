import cluster from "node:cluster";
import { setFlagsFromString } from "node:v8";
import { openIngress, warnIfUnsigned } from "@millrace/connect";
import { readEnvironment, withUrl } from "@millrace/core";
import {
  createLogger,
  createRegistry,
  createErrorLog,
  loadConfig,
  onTermination,
  refuseExampleSecrets,
  resolveSecrets,
  notifyParent,
  openTracing,
} from "@millrace/service";
import { createIngress, type Ingress } from "./create-ingress.ts";
import { shareMetrics } from "./shared-metrics.ts";

/**
 * Runs an ingress in this process. Resolves when it listens, also while Redis or Postgres is
 * unavailable: then events go to the other one, and are answered with 503 without one. SIGTERM and
 * SIGINT end the process. It can be one of several that listen on one port, in a cluster of Node.
 * @throws `invalid_config`, `config_not_found`, `missing_secret`, `example_secret`, `port_in_use`,
 * `redis_evicts`, `redis_volatile`, `queue_key_missing`, `postgres_too_old`,
 * `unsupported_isolation`, `missing_rights`, `migration_needed`.
 */
export async function main(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  // Keeps V8 from allocating requests in its old generation, which it does after a busy start: each
  // request then outlived quick collections, and half of the processes took a fifth more CPU.
  setFlagsFromString("--no-allocation-site-pretenuring");
  const environment = readEnvironment(env);
  const { config } = await loadConfig(environment.MILLRACE_CONFIG ?? "millrace.config.ts");
  const secrets = resolveSecrets(config, env);
  const host = environment.HOST ?? "0.0.0.0";
  refuseExampleSecrets({ env, host, secrets });
  const logger = createLogger({ role: "ingress", level: environment.LOG_LEVEL });
  const stores = openIngress(environment, config, {
    onError: createErrorLog(logger),
    onFinding: ({ detail, fix }) => logger.warn(`${detail}. ${fix}`),
    onIntakeNotice: (notice) => ingress.notify(notice),
  });
  warnIfUnsigned(environment, logger);
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
      tracing: await openTracing((message) => logger.warn(message)),
      redelivery: stores.redelivery,
      refusals: stores.refusals,
      pressure: () => stores.pressure(),
    });
    await stores.tried;
    const port = await ingress.listen({ port: environment.INGRESS_PORT, host });
    const close = async () => {
      await ingress.close();
      await stores.close();
    };
    onTermination(logger, close);
    logger.info({ host, port, sources: Object.keys(withUrl(config.sources)) }, "listening");
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

import { openDashboard, openIngress, openWorker } from "@millrace/connect";
import { parseConfig, readEnvironment, type Config, type Environment } from "@millrace/core";
import { createDashboard, type DashboardOptions } from "@millrace/dashboard";
import { createIngress, type Ingress } from "@millrace/ingress";
import {
  createLogger,
  createRegistry,
  loadHandlers,
  resolveSecrets,
  secretsToHide,
} from "@millrace/service";
import { createWorkerRole } from "@millrace/worker";

export interface RoleInProcess {
  readonly url: string;
  close(): Promise<void>;
}

type RoleName = "ingress" | "worker" | "dashboard";
type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Starts a role as its `main` does, without a process: for tests of what roles do to an event. What
 * they do when they are started, signalled or killed is tested in processes.
 * @param exported - What the config file exports.
 */
export async function startInProcess(
  role: RoleName,
  exported: unknown,
  env: Variables,
  options: RoleOptions = {},
): Promise<RoleInProcess> {
  const config = parseConfig(exported);
  const { url, close } = await STARTS[role]({
    config,
    env,
    environment: readEnvironment(env),
    ...options,
  });
  let closed: Promise<void> | undefined;
  return { url, close: () => (closed ??= close()) };
}

export interface RoleOptions {
  readonly dashboard?: Partial<DashboardOptions>;
}

interface Start extends RoleOptions {
  readonly config: Config;
  readonly env: Variables;
  readonly environment: Environment;
}

const ANY_PORT = { port: 0, host: "127.0.0.1" };
const urlOf = (port: number) => `http://127.0.0.1:${port}`;

const STARTS: Record<RoleName, (start: Start) => Promise<RoleInProcess>> = {
  ingress: async ({ config, env, environment }) => {
    const secrets = resolveSecrets(config, env);
    let ingress: Ingress;
    const stores = openIngress(environment, config, {
      onIntakeNotice: (notice) => ingress.notify(notice),
    });
    return await startOrClose(stores, async () => {
      ingress = createIngress({
        config,
        secrets,
        stores: stores.eventStores,
        redelivery: stores.redelivery,
        refusals: stores.refusals,
        pressure: () => stores.pressure(),
        logger: createLogger({ role: "ingress", level: "silent" }),
        registry: createRegistry({ role: "ingress" }),
      });
      await stores.tried;
      const port = await ingress.listen(ANY_PORT);
      return {
        url: urlOf(port),
        close: async () => {
          await ingress.close();
          await stores.close();
        },
      };
    });
  },

  worker: async ({ config, env, environment }) => {
    const worker = createWorkerRole({
      config,
      handlers: await loadHandlers(config, env),
      logger: createLogger({ role: "worker", level: "silent" }),
      dashboardUrl: environment.DASHBOARD_URL,
      secrets: secretsToHide(config, env),
      groups: environment.MILLRACE_GROUPS === "on",
      openStores: (watch) => openWorker(environment, config, watch),
    });
    return await startOrClose(worker, async () => {
      const port = await worker.listen(ANY_PORT);
      await worker.start();
      return { url: urlOf(port), close: () => worker.close() };
    });
  },

  dashboard: async ({ config, environment, dashboard: options }) => {
    const stores = openDashboard(environment, config);
    return await startOrClose(stores, async () => {
      const { ledger, queues } = await stores.opened;
      const dashboard = createDashboard(
        {
          ledger,
          queues,
          logger: createLogger({ role: "dashboard", level: "silent" }),
          registry: createRegistry({ role: "dashboard" }),
        },
        { config, host: ANY_PORT.host, ...options },
      );
      const port = await dashboard.listen({ port: 0 });
      return {
        url: urlOf(port),
        close: async () => {
          await dashboard.close();
          await stores.close();
        },
      };
    });
  },
};

async function startOrClose(
  opened: { close(): Promise<void> },
  start: () => Promise<RoleInProcess>,
): Promise<RoleInProcess> {
  try {
    return await start();
  } catch (error) {
    await opened.close();
    throw error;
  }
}

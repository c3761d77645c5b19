import { createServer } from "node:http";
import {
  checkParts,
  closeServer,
  createTroubleLog,
  listen,
  type Logger,
  type Readiness,
} from "@millrace/service";
import { stats } from "@millrace/operations";
import type { Registry } from "prom-client";
import { checkOptions, type DashboardOptions } from "./dashboard-options.ts";
import { createExpressApp } from "./express-app.ts";
import { registerMetrics } from "./dashboard-metrics.ts";
import type { DashboardLedger, DashboardQueues } from "./ports.ts";
import { rememberBriefly } from "./remember-briefly.ts";

/** Counting reads the whole of the ledger's narrow table, however many people look. */
const STATS_REMEMBERED_MS = 1_000;

export interface DashboardDeps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
  /** What must work for the dashboard to be ready: each resolves when its part answers. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  readonly logger: Logger;
  readonly registry: Registry;
}

export interface Dashboard {
  /**
   * Listens on the host of the options, and gives the port it got.
   * @throws `port_in_use`
   */
  listen(options: { port: number }): Promise<number>;
  /** Stops accepting, lets requests under way finish, and cuts the rest. */
  close(): Promise<void>;
}

/**
 * Makes the dashboard: the events and their statistics, an API for both, and bull-board.
 *
 * @throws `invalid_config` when it would listen beyond loopback without credentials.
 */
export function createDashboard(deps: DashboardDeps, options: DashboardOptions): Dashboard {
  checkOptions(options);
  const trouble = createTroubleLog(deps.logger);
  const onError = (error: unknown) => trouble("request", error);
  let closing = false;

  async function readiness(): Promise<Readiness> {
    if (closing) return { ready: false, parts: { dashboard: "closing" } };
    return await checkParts(deps.checks);
  }

  const readStats = rememberBriefly(STATS_REMEMBERED_MS, () => stats(deps));
  registerMetrics(deps.registry, { readStats, onError: (error) => trouble("metrics", error) });
  const app = createExpressApp({ ...deps, readStats, readiness, onError }, options);
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, app);

  return {
    listen: async ({ port }) => {
      const got = await listen(server, { port, host: options.host });
      server.on("error", onError);
      return got;
    },
    close: async () => {
      closing = true;
      await closeServer(server, { timeoutMs: options.shutdownTimeoutMs ?? 5_000 });
    },
  };
}

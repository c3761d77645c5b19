import { createServer } from "node:http";
import {
  checkParts,
  closeServer,
  createErrorLog,
  listen,
  type Logger,
  type Readiness,
} from "@millrace/service";
import type { Registry } from "prom-client";
import { checkOptions, type DashboardOptions } from "./dashboard-options.ts";
import { createExpressApp } from "./express-app.ts";
import { registerMetrics } from "./dashboard-metrics.ts";
import type { DashboardLedger, DashboardQueues } from "./ports.ts";
import { createOverviews } from "./overviews.ts";
import { createAuthenticator } from "./security/authenticator.ts";
import { createSessionStore } from "./security/session-store.ts";
import { createSignInRecord } from "./security/sign-in-record.ts";

export interface DashboardDeps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
  /** Each resolves when its part answers; `/readyz` needs all of them. */
  readonly checks: Readonly<Record<string, () => Promise<unknown>>>;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** The config's defaults. */
const COMPARE_DEFAULTS = { graceMs: 5_000, keysDays: 90 };

export interface Dashboard {
  /** Returns the port. @throws `port_in_use` */
  listen(options: { port: number }): Promise<number>;
  /** Stops accepting, lets running requests finish, and cuts the rest. */
  close(): Promise<void>;
}

/** @throws `invalid_config` when it would listen beyond loopback without credentials. */
export function createDashboard(deps: DashboardDeps, options: DashboardOptions): Dashboard {
  checkOptions(options);
  const logError = createErrorLog(deps.logger);
  const logAs = (what: string) => (error: unknown) => logError(what, error);
  const onError = logAs("request");
  let closing = false;

  async function readiness(): Promise<Readiness> {
    if (closing) return { ready: false, parts: { dashboard: "closing" } };
    return await checkParts(deps.checks, {
      onFailure: (part, error) => logError(`readiness: ${part}`, error),
    });
  }

  const overviews = createOverviews(deps, options.compare ?? COMPARE_DEFAULTS);
  registerMetrics(deps.registry, { readStats: overviews.stats, onError: logAs("metrics") });
  const record = createSignInRecord({ ...deps, onError: logAs("audit of sign-ins") });
  const store = createSessionStore({ ...deps, onError: logAs("sessions") });
  const authenticator = createAuthenticator(options.credentials, { record, store });
  const parts = { ...deps, overviews, authenticator, readiness, onError };
  const app = createExpressApp(parts, options);
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, app);

  return {
    listen: async ({ port }) => {
      const got = await listen(server, { port, host: options.host });
      server.on("error", onError);
      return got;
    },
    close: async () => {
      closing = true;
      await Promise.all([
        authenticator.close(),
        closeServer(server, { timeoutMs: options.shutdownTimeoutMs ?? 5_000 }),
      ]);
    },
  };
}

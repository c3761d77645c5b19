import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isLoopback, MillraceError, type Config } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import {
  checkParts,
  closeServer,
  createErrorLog,
  listen,
  statusRouter,
  type Logger,
  type Readiness,
} from "@millrace/service";
import express, { type Express, Router } from "express";
import type { Registry } from "prom-client";
import { pageFolder } from "@millrace/ledger-page";
import { answerErrors } from "./api/answer-error.ts";
import { createApi, createOpenRoutes } from "./api/create-api.ts";
import { createBoardAudit, createQueueBoard } from "./board/queue-board.ts";
import { createOverviews, registerMetrics, type Overviews } from "./overviews.ts";
import {
  createAuthenticator,
  guard,
  requireToken,
  type Authenticator,
} from "./security/authenticator.ts";
import {
  BOARD_CSP,
  checkHost,
  checkWrite,
  OWN_CSP,
  securityHeaders,
  PAGE_CSP,
} from "./security/browser-security.ts";
import { weaknessOf, type Credentials } from "./security/credentials.ts";
import { createSessionStore } from "./security/sessions.ts";
import { createSignInRecord } from "./security/sign-in-record.ts";

export interface DashboardOptions {
  readonly config: Pick<Config, "sources" | "reconciler" | "retention">;
  readonly host: string;
  /** Further names of the dashboard, such as `dash.example.com`. */
  readonly hosts?: readonly string[];
  /** The number, addresses or networks of proxies whose `X-Forwarded-For` counts. Default: none. */
  readonly trustProxy?: number | readonly string[];
  /** Without credentials only loopback is listened on, and everybody is an operator. */
  readonly credentials?: Credentials | undefined;
  /** Milliseconds for running requests. Default 5,000. */
  readonly shutdownTimeoutMs?: number;
}

interface DashboardDeps {
  readonly ledger: Ledger;
  readonly queues: Queues;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** @throws `invalid_config` when it would listen beyond loopback without credentials. */
export function createDashboard(deps: DashboardDeps, options: DashboardOptions) {
  checkOptions(options);
  const { ledger, queues } = deps;
  const { config } = options;
  const checks = { ledger: () => ledger.reads.ping(), queue: () => queues.ping() };
  const logError = createErrorLog(deps.logger);
  const logAs = (what: string) => (error: unknown) => logError(what, error);
  const onError = logAs("request");
  let closing = false;

  async function readiness(): Promise<Readiness> {
    if (closing) return { ready: false, parts: { dashboard: "closing" } };
    return await checkParts(checks, {
      onFailure: (part, error) => logError(`readiness: ${part}`, error),
    });
  }

  const authenticatedOnly = Object.entries(config.sources)
    .filter(([, { provider }]) => provider.authenticatedOnly)
    .map(([name]) => name);
  const overviews = createOverviews({ ledger, queues, config, authenticatedOnly });
  registerMetrics(deps.registry, { overviews, onError: logAs("metrics") });
  const record = createSignInRecord({ ...deps, onError: logAs("audit of sign-ins") });
  const store = createSessionStore({ ...deps, onError: logAs("sessions") });
  const authenticator = createAuthenticator(options.credentials, { record, store });
  const parts = { ...deps, authenticatedOnly, overviews, authenticator, readiness, onError };
  const app = createExpressApp(parts, options);
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000 }, app);

  return {
    /** Returns the port. @throws `port_in_use` */
    listen: async ({ port }: { port: number }): Promise<number> => {
      const got = await listen(server, { port, host: options.host });
      server.on("error", onError);
      return got;
    },
    close: async (): Promise<void> => {
      closing = true;
      await Promise.all([
        authenticator.close(),
        closeServer(server, { timeoutMs: options.shutdownTimeoutMs ?? 5_000 }),
      ]);
    },
  };
}

interface AppDeps extends DashboardDeps {
  /** Sources of which nothing signed covers the body. */
  readonly authenticatedOnly: readonly string[];
  readonly overviews: Overviews;
  readonly authenticator: Authenticator;
  readonly readiness: () => Promise<Readiness>;
  readonly onError: (error: unknown) => void;
}

// Probers have no credentials, so `/healthz` and `/readyz` stand outside the guards. Where other
// machines reach the dashboard, `/readyz` gives no reasons, and `/metrics` is for programs.
function createExpressApp(deps: AppDeps, options: DashboardOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  // By this alone Express reads X-Forwarded-For; Host and origin are checked as they come.
  app.set("trust proxy", options.trustProxy ?? 0);
  app.use(securityHeaders(OWN_CSP));

  const status = statusRouter({ ...deps, reasons: isLocal(options) });
  app.get(["/healthz", "/readyz"], status);
  app.use(checkHost(options.host, options.hosts));
  app.use(checkWrite);
  const { authenticator } = deps;
  app.use("/api", createOpenRoutes(authenticator));
  app.use(createPageRoutes());
  app.use(guard(authenticator));

  if (!isLocal(options)) app.use("/metrics", requireToken);
  app.use(status);
  const showWorkers = deps.queues.backend !== "postgres";
  const board = { onError: deps.onError, showWorkers, audit: createBoardAudit(deps.ledger) };
  app.use("/queues", securityHeaders(BOARD_CSP));
  app.use("/queues", createQueueBoard(deps.queues.queues.values(), board));
  app.use("/api", createApi({ ...deps, sources: options.config.sources }));
  app.use((_request, _response, next) => {
    next(new MillraceError("not_found", "Cannot find this page: nothing is served at its path"));
  });
  app.use(answerErrors(deps.onError));
  return app;
}

/** True when only this machine reaches the dashboard: on loopback, with no name of a proxy. */
function isLocal({ host, hosts = [] }: Pick<DashboardOptions, "host" | "hosts">): boolean {
  return isLoopback(host) && hosts.length === 0;
}

/**
 * @throws `invalid_config` for a secret of fewer than 16 characters, and where other machines reach
 * the dashboard without credentials.
 */
export function checkOptions(options: Omit<DashboardOptions, "config">): void {
  const { host, hosts = [], credentials } = options;
  const isEmpty = !credentials?.accounts.length && !credentials?.tokens.length;
  const weakness = credentials && weaknessOf(credentials);
  const problem = isEmpty && !isLocal(options) ? NO_CREDENTIALS : weakness;
  if (problem === undefined) return;
  const name = isLoopback(host) ? `as "${hosts.join(", ")}" (DASHBOARD_HOSTS)` : `on "${host}"`;
  const where = isLocal(options) ? "" : ` ${name}`;
  throw new MillraceError("invalid_config", `Cannot open the dashboard${where}: ${problem}`);
}

const NO_CREDENTIALS =
  "DASHBOARD_USER and DASHBOARD_PASSWORD are not set, and neither is DASHBOARD_TOKENS, so anyone " +
  "could retry events there";

const LISTS = ["/", "/events", "/errors", "/runs", "/sources", "/audit"];
const PATHS = [...LISTS, "/event", "/errors/:fingerprint", "/runs/:id"];
const OTHERS = /^\/(?:api|assets|metrics|queues)(?:\/|$)/;
/** Seconds. An asset's name carries a hash of its content. */
const FOR_EVER = 31_536_000;

/** Serves the page to anyone: it holds no data. @throws `internal` when it was not built. */
function createPageRoutes(): Router {
  const document = readDocument();
  const router = Router();
  router.get(PATHS, securityHeaders(PAGE_CSP), (_request, response) => {
    response.type("html").send(document);
  });
  // People guess it from the API's path.
  router.get("/event{s}/:source/:id{/:generation}", ({ params, query }, response) => {
    response.redirect(`/event?${new URLSearchParams({ ...query, ...params }).toString()}`);
  });
  router.use(
    "/assets",
    express.static(fileURLToPath(new URL("assets/", pageFolder)), {
      index: false,
      redirect: false,
      setHeaders: (response) => {
        response.setHeader("Cache-Control", `public, max-age=${FOR_EVER}, immutable`);
      },
    }),
  );
  // A browser gets the page for an unknown path too, and a program an error.
  router.get(
    "/{*path}",
    (request, _response, next) => {
      const isBrowser = request.accepts(["json", "html"]) === "html";
      next(isBrowser && !OTHERS.test(request.path) ? undefined : "route");
    },
    securityHeaders(PAGE_CSP),
    (_request, response) => void response.status(404).type("html").send(document),
  );
  return router;
}

function readDocument(): string {
  try {
    return readFileSync(new URL("index.html", pageFolder), "utf8");
  } catch (error) {
    throw new MillraceError(
      "internal",
      "Cannot serve the ledger's page: it was not built. Run `npm run build`",
      { cause: error },
    );
  }
}

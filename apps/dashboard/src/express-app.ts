import { MillraceError } from "@millrace/core";
import { statusRouter, type Readiness } from "@millrace/service";
import express, { type Express } from "express";
import type { Registry } from "prom-client";
import { answerErrors } from "./api/answer-error.ts";
import { createApi, createOpenRoutes } from "./api/create-api.ts";
import { createBoardAudit } from "./board/board-audit.ts";
import { createQueueBoard } from "./board/queue-board.ts";
import { isLocal, type DashboardOptions } from "./dashboard-options.ts";
import { createPageRoutes } from "./page-routes.ts";
import type { Overviews } from "./overviews.ts";
import type { DashboardLedger, DashboardQueues } from "./ports.ts";
import type { Authenticator } from "./security/authenticator.ts";
import {
  BOARD_CSP,
  checkHost,
  checkWrite,
  OWN_CSP,
  securityHeaders,
} from "./security/browser-security.ts";
import { guard, requireToken } from "./security/guard.ts";

interface Deps {
  readonly ledger: DashboardLedger;
  readonly queues: DashboardQueues;
  readonly overviews: Overviews;
  readonly registry: Registry;
  readonly authenticator: Authenticator;
  readonly readiness: () => Promise<Readiness>;
  readonly onError: (error: unknown) => void;
}

/**
 * Probers have no credentials, so `/healthz` and `/readyz` stand outside the guards. Where other
 * machines reach the dashboard, `/readyz` gives no reasons, and `/metrics` is for programs.
 */
export function createExpressApp(deps: Deps, options: DashboardOptions): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  // By this alone Express reads X-Forwarded-For; Host and origin are checked as they come.
  app.set("trust proxy", options.trustProxy ?? 0);
  app.use(securityHeaders(OWN_CSP));

  const status = statusRouter({ ...deps, reasons: isLocal(options) });
  app.get(["/healthz", "/readyz"], status);
  app.use(checkHost({ boundHost: options.host, ...(options.hosts && { hosts: options.hosts }) }));
  app.use(checkWrite());
  const { authenticator } = deps;
  app.use("/api", createOpenRoutes(authenticator));
  app.use(createPageRoutes());
  // From here on only known callers are served.
  app.use(guard(authenticator));

  if (!isLocal(options)) app.use("/metrics", requireToken());
  app.use(status);
  const showWorkers = deps.queues.backend !== "postgres";
  const audit = createBoardAudit(deps.ledger);
  const board = { basePath: "/queues", onError: deps.onError, showWorkers, audit };
  app.use("/queues", securityHeaders(BOARD_CSP));
  app.use("/queues", createQueueBoard(deps.queues.queues.values(), board));
  app.use("/api", createApi(deps));
  app.use((_request, _response, next) => {
    next(new MillraceError("not_found", "Cannot find this page: nothing is served at its path"));
  });
  app.use(answerErrors(deps.onError));
  return app;
}

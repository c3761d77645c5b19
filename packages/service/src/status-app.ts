import { errorBody, type ErrorCode, statusOf } from "@millrace/core";
import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import { type MetricsSource, type Readiness, statusRouter } from "./status-router.ts";
import { collectDefaultMetrics, Registry } from "prom-client";

/** The HTTP app of a role without pages: health, readiness, metrics, and errors for all other paths. */
export function createStatusApp(deps: {
  registry: MetricsSource;
  readiness: () => Promise<Readiness>;
  /** Called with what a route threw; the client gets `internal`. */
  onError: (error: unknown) => void;
}): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(statusRouter(deps));
  app.use((_request, response) => {
    answer(response, "not_found", "Cannot serve this path: it does not exist");
  });
  const lastResort: ErrorRequestHandler = (error, _request, response, next) => {
    // Express rejects a path that cannot be decoded: the client's fault, not worth a log line.
    if (isBadRequest(error)) return answer(response, "not_found", "Cannot serve this path");
    deps.onError(error);
    if (response.headersSent) return next(error);
    answer(response, "internal", "Cannot serve this path: something unexpected happened");
  };
  app.use(lastResort);
  return app;
}

function answer(response: Response, code: ErrorCode, message: string): void {
  response.status(statusOf(code)).json(errorBody(code, message));
}

function isBadRequest(error: unknown): boolean {
  return error instanceof URIError;
}

/** A role's Prometheus registry, including process metrics (memory, CPU, event loop). */
export function createRegistry(labels: { role: string; process?: string }): Registry {
  const registry = new Registry();
  registry.setDefaultLabels(labels);
  collectDefaultMetrics({ register: registry });
  return registry;
}

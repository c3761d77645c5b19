import { errorBody, statusOf, type ErrorCode } from "@millrace/core";
import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import type { Registry } from "prom-client";
import { statusRouter, type Readiness } from "./status-router.ts";

/** What a role serves that has no pages: health, readiness, metrics, and errors for all the rest. */
export function createStatusApp(deps: {
  registry: Registry;
  readiness: () => Promise<Readiness>;
  /** Hears what a route threw; the caller is told `internal`. */
  onError: (error: unknown) => void;
}): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(statusRouter(deps));
  app.use((_request, response) => {
    answer(response, "not_found", "Cannot serve this path: nothing is here");
  });
  const lastResort: ErrorRequestHandler = (error, _request, response, next) => {
    // Express refuses a path that cannot be decoded; that is the sender's fault, and no news.
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

import { errorBody, isMillraceError, statusOf, withDeadline, type ErrorCode } from "@millrace/core";
import express, { Router, type ErrorRequestHandler, type Express, type Response } from "express";

export interface Readiness {
  readonly ready: boolean;
  /** Each part by name: `ok`, or a code or fixed words that say why not. Never an address. */
  readonly parts: Readonly<Record<string, string>>;
  /** The stores or reasons in force while it works with less than all parts. */
  readonly degraded?: Readonly<Record<string, unknown>>;
}

/** The source of `GET /metrics`: a registry, or the registries of several processes. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

interface StatusDeps {
  readonly registry: MetricsSource;
  readonly readiness: () => Promise<Readiness>;
}

/** The app of a role without pages. `onError` gets what a route threw; the client, `internal`. */
export function createStatusApp(deps: StatusDeps & { onError: (error: unknown) => void }): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use(statusRouter(deps));
  app.use((_request, response) => {
    answer(response, "not_found", "Cannot serve this path: it does not exist");
  });
  const lastResort: ErrorRequestHandler = (error, _request, response, next) => {
    // Express rejects a path that cannot be decoded: a mistake of the client.
    if (error instanceof URIError) return answer(response, "not_found", "Cannot serve this path");
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

/** `/healthz`: the process lives; `/readyz`: 200 only when it can work, and why not (`reasons`). */
export function statusRouter(deps: StatusDeps & { reasons?: boolean }): Router {
  const router = Router();
  router.get("/healthz", (_request, response) => {
    response.json({ status: "ok" });
  });
  router.get("/readyz", async (_request, response) => {
    const { ready, parts, degraded } = await deps.readiness();
    const well = degraded === undefined ? "ready" : "degraded";
    const status = ready ? well : "not_ready";
    const reasons = deps.reasons === false ? {} : { parts, ...degraded };
    response.status(ready ? 200 : 503).json({ status, ...reasons });
  });
  router.get("/metrics", async (_request, response) => {
    response.set("Content-Type", deps.registry.contentType).send(await deps.registry.metrics());
  });
  return router;
}

/**
 * Checks all parts at once, each within `timeoutMs` (1,000). A part is `ok`, or a code or fixed
 * words: a stranger may read `/readyz`, and a message may name an address. `onFailure` logs it.
 */
export async function checkParts(
  checks: Readonly<Record<string, () => Promise<unknown>>>,
  options: { timeoutMs?: number; onFailure?: (part: string, error: unknown) => void } = {},
): Promise<Readiness> {
  const { timeoutMs = 1_000, onFailure } = options;
  const late = new Error(`no answer within ${timeoutMs} ms`);
  const parts: Record<string, string> = {};
  await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      try {
        await withDeadline(check(), timeoutMs, () => late);
        parts[name] = "ok";
      } catch (error) {
        const code = isMillraceError(error) ? error.code : "unavailable";
        parts[name] = error === late ? late.message : code;
        onFailure?.(name, error);
      }
    }),
  );
  return { ready: Object.values(parts).every((state) => state === "ok"), parts };
}

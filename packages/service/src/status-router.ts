import { Router } from "express";

/** Whether a process can do its work: each part it needs, by name, and what is wrong with it. */
export interface Readiness {
  readonly ready: boolean;
  /** Each part by name: `ok`, or a code or fixed words that say why not. Never an address. */
  readonly parts: Readonly<Record<string, string>>;
  /** What is in force instead, when it can work and yet not all is well. */
  readonly degraded?: Readonly<Record<string, unknown>>;
}

/** What `GET /metrics` serves: a registry, or the registries of several processes. */
export interface MetricsSource {
  readonly contentType: string;
  metrics(): Promise<string>;
}

/**
 * What every role answers: `GET /healthz` (the process lives), `GET /readyz` (200 only when it can
 * work) and `GET /metrics` (Prometheus text).
 */
export function statusRouter(deps: {
  registry: MetricsSource;
  readiness: () => Promise<Readiness>;
  /** Whether `/readyz` says why it is as it is; default true. */
  reasons?: boolean;
}): Router {
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

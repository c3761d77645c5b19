import { createServer, type Server } from "node:http";
import { closeServer, createStatusApp, type Readiness } from "@millrace/service";
import type { Registry } from "prom-client";

const CLOSE_TIMEOUT_MS = 1_000;

/** The worker's health, readiness and metrics. It takes in nothing. */
export function createStatusServer(deps: {
  registry: Registry;
  readiness: () => Promise<Readiness>;
  /** Hears what an answer failed of. */
  onError: (error: unknown) => void;
}): { server: Server; close(): Promise<void> } {
  const server = createServer(createStatusApp(deps));
  return { server, close: () => closeServer(server, { timeoutMs: CLOSE_TIMEOUT_MS }) };
}

import { createServer } from "node:http";
import type { Opening, StoreWatch, WorkerStores } from "@millrace/connect";
import { hasCode, MillraceError } from "@millrace/core";
import {
  checkParts,
  closeServer,
  createErrorLog,
  createRegistry,
  createStatusApp,
  listen,
  type Readiness,
} from "@millrace/service";
import { createObservers } from "./observers.ts";
import { startWorker, type RunningWorker, type WorkerParts } from "./start-worker.ts";

interface RoleDeps extends Omit<WorkerParts, "stores" | "observers" | "logError" | "waiting"> {
  /** Called after the worker has closed because it may run no more jobs. */
  readonly onLost?: () => void;
  readonly openStores: (watch: StoreWatch) => Opening<WorkerStores>;
}

const STATUS_CLOSE_MS = 1_000;

const SERVERS = { ledger: "Postgres", queue: "the queue" };

export function createWorkerRole(deps: RoleDeps) {
  const { config, logger } = deps;
  const logError = createErrorLog(logger);
  const registry = createRegistry({ role: "worker" });
  const closing = new AbortController();
  let state: Readonly<Record<string, string>> = { worker: "starting" };
  let opening: Opening<WorkerStores> | undefined;
  let stores: WorkerStores | undefined;
  let running: RunningWorker | undefined;
  let closed: Promise<void> | undefined;
  const observers = createObservers({
    ...{ registry, logger, logError },
    sources: Object.keys(config.sources),
    running: () => running?.worker.running ?? 0,
    leading: () => running?.leader.leading ?? false,
  });
  const status = createServer(
    createStatusApp({ registry, readiness, onError: (error) => logError("status", error) }),
  );

  async function start(): Promise<void> {
    if (closed !== undefined) throw shuttingDown();
    opening = deps.openStores({
      onError: logError,
      onAway: waitFor,
      onFinding: ({ detail, fix }) => logger.warn(`${detail}. ${fix}`),
      onConnections: ({ given, limit, held, pools, mayTake, others }, own) => {
        const inUse = { given, limit, in_use: Object.fromEntries(held) };
        const free = { may_take_here: own, may_take: mayTake, pools, others };
        logger.info({ ...inUse, ...free }, "connections of Postgres");
      },
      onQueueNotice: observers.queue,
      onConnectionReset: observers.ledger,
      onLost: (error) => void lose(error),
    });
    stores = await opening.opened;
    const { signal } = closing;
    const waiting = { signal, onAway: (error: unknown) => waitFor("ledger", error) };
    running = await startWorker({ ...deps, stores, observers, logError, waiting });
  }

  async function lose(error: MillraceError): Promise<void> {
    logger.fatal({ err: error }, "the queue cannot be used");
    await close();
    deps.onLost?.();
  }

  function waitFor(store: keyof typeof SERVERS, error: unknown): void {
    const waits = `waiting for ${SERVERS[store]}`;
    const isReadOnly = hasCode(error, "database_read_only");
    state = { worker: waits, ...(isReadOnly && { postgres: error.code }) };
    logError(waits, error);
  }

  async function readiness(): Promise<Readiness> {
    if (stores === undefined || running?.worker.open !== true)
      return { ready: false, parts: state };
    const { ledger, queues } = stores;
    return await checkParts(
      { postgres: () => ledger.claims.ping(), queue: () => queues.ping() },
      { onFailure: (part, error) => logError(`readiness: ${part}`, error) },
    );
  }

  async function close(): Promise<void> {
    state = { worker: "closing" };
    closing.abort(shuttingDown());
    // Stores that are still being opened are given up first, so that no work begins on them.
    if (stores === undefined) await opening?.close();
    await (running ?? stores?.queues)?.close();
    await opening?.close();
    await closeServer(status, { timeoutMs: STATUS_CLOSE_MS });
  }

  return {
    /** Serves health, readiness and metrics, and returns the port. @throws `port_in_use` */
    listen: (options: { port: number; host: string }) => listen(status, options),
    /** @throws `migration_needed`, `too_many_connections`; `shutting_down` when it is closed */
    start,
    /** Stops taking jobs, gives running events their time, and ends every connection. Bounded. */
    close: () => (closed ??= close()),
  };
}

function shuttingDown(): MillraceError {
  return new MillraceError("shutting_down", "Cannot start: the worker is closing");
}

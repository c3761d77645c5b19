import { MillraceError, settledWithin } from "@millrace/core";
import {
  checkParts,
  createRegistry,
  createTroubleLog,
  listen,
  type Logger,
  type Readiness,
} from "@millrace/service";
import { beginWork, type Work, type WorkDeps } from "./begin-work.ts";
import { createNoticeLog } from "./log-notices.ts";
import { createReconcilerLog } from "./log-reconciler.ts";
import { createReconcilerMetrics, type ReconcilerMetrics } from "./reconciler-metrics.ts";
import { createStatusServer } from "./status-server.ts";
import { createUpkeepListeners } from "./upkeep-listeners.ts";
import { createWorkerMetrics, type WorkerMetrics } from "./worker-metrics.ts";

/** What a worker process is made of. The role ends the pool, and closes the queues it opened. */
export type RoleDeps = Pick<
  WorkDeps,
  "config" | "handlers" | "pool" | "openQueues" | "connectionsWanted" | "archiveDir"
> & { readonly logger: Logger };

export interface WorkerRole {
  /** Serves health, readiness and metrics, and gives the port it got. @throws `port_in_use` */
  listen(options: { port: number; host: string }): Promise<number>;
  /**
   * Waits until Postgres and the queue answer, then takes jobs.
   * @throws what waiting does not mend (`migration_needed`); `shutting_down` when it is closed.
   */
  start(): Promise<void>;
  /** Stops taking jobs, gives what runs its time, and ends every connection. Bounded. */
  close(): Promise<void>;
}

// A pool waits for the connections that it has lent, and one of them may have lost its server.
const POOL_END_MS = 3_000;

/** A worker process: its status server from the first moment on, and its work. */
export function createWorkerRole(deps: RoleDeps): WorkerRole {
  const { config, logger, pool } = deps;
  const registry = createRegistry({ role: "worker" });
  const metrics = createWorkerMetrics(registry);
  const trouble = createTroubleLog(logger);
  const status = createStatusServer({
    registry,
    readiness,
    onError: (error) => trouble("status", error),
  });
  const closing = new AbortController();
  let state = "starting";
  let work: Work | undefined;
  metrics.showRunning(() => work?.worker.running ?? 0);
  const reconciliation = createReconcilerMetrics(registry);
  reconciliation.showLeading(() => work?.reconciler.leading ?? false);
  const upkeep = createUpkeepListeners({ registry, logger, trouble });

  async function readiness(): Promise<Readiness> {
    if (work?.worker.open !== true) return { ready: false, parts: { worker: state } };
    const { queues } = work;
    return await checkParts({
      postgres: () => pool.query("select 1"),
      queue: () => queues.ping(),
    });
  }

  async function start(): Promise<void> {
    const parts: WorkDeps = {
      ...deps,
      ...listeners({ metrics, reconciliation, logger }),
      onWaiting: (what, error) => {
        state = `waiting for ${what}`;
        trouble(state, error);
      },
      ...upkeep,
      onHookError: (error) => trouble("onFailed", error),
    };
    work = await beginWork(parts, closing.signal);
    logger.info(
      { sources: Object.keys(config.sources), queue: work.queues.backend },
      "taking jobs",
    );
  }

  async function close(): Promise<void> {
    state = "closing";
    closing.abort(new MillraceError("shutting_down", "Cannot go on: the worker is closing"));
    await work?.close();
    await settledWithin(pool.end(), POOL_END_MS);
    await status.close();
  }

  let closed: Promise<void> | undefined;
  return {
    listen: (options) => listen(status.server, options),
    start,
    close: () => (closed ??= close()),
  };
}

/** What happens is counted, then logged. */
function listeners({ metrics, reconciliation, logger }: ListenerDeps): Listeners {
  const log = createNoticeLog(logger);
  const logReconciler = createReconcilerLog(logger);
  return {
    notify: (notice) => {
      metrics.observe(notice);
      log.log(notice);
    },
    notifyQueue: (notice) => {
      metrics.observeQueue(notice);
      log.logQueue(notice);
    },
    notifyReconciler: (notice) => {
      reconciliation.observe(notice);
      logReconciler(notice);
    },
  };
}

interface ListenerDeps {
  readonly metrics: WorkerMetrics;
  readonly reconciliation: ReconcilerMetrics;
  readonly logger: Logger;
}

type Listeners = Pick<WorkDeps, "notify" | "notifyQueue" | "notifyReconciler">;

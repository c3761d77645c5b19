import { createServer, type Server } from "node:http";
import { MillraceError, settlesWithin, type Config, type Handler } from "@millrace/core";
import {
  checkSchema,
  createLedger,
  isDatabaseUnavailable,
  type createPool,
} from "@millrace/ledger";
import type { ReconcilerNotice } from "@millrace/operations";
import type { Notice } from "@millrace/processor";
import type { Notify, Queues } from "@millrace/queue";
import {
  checkParts,
  closeServer,
  createErrorLog,
  createRegistry,
  createStatusApp,
  listen,
  retryUntilAvailable,
  type ErrorLog,
  type Logger,
  type Readiness,
} from "@millrace/service";
import { checkConnections } from "./connection-budget.ts";
import { createWorker, type Worker } from "./create-worker.ts";
import { observeProcessor } from "./observe-processor.ts";
import { observeQueue } from "./observe-queue.ts";
import { observeReconciler } from "./observe-reconciler.ts";
import { observeRetention, type RetentionObserver } from "./observe-retention.ts";
import { startPeriodicTasks, type PeriodicTasks } from "./periodic-tasks.ts";
import { startReconciler, type RunningReconciler } from "./start-reconciler.ts";

/** What a worker process is made of. The role ends the pool, and closes the queues that it opened. */
export interface RoleDeps {
  readonly config: Config;
  readonly handlers: readonly Handler[];
  readonly pool: ReturnType<typeof createPool>;
  /** Opens the queues; called again while their server is unavailable. */
  readonly openQueues: (notify: Notify) => Promise<Queues>;
  /** Connections that the process may need of Postgres, those of the queues included. */
  readonly connectionsWanted: number;
  /** Absolute path of the folder for archives, if there is one. */
  readonly archiveDir: string | undefined;
  readonly logger: Logger;
}

export interface WorkerRole {
  /** Serves health, readiness and metrics, and returns the port. @throws `port_in_use` */
  listen(options: { port: number; host: string }): Promise<number>;
  /**
   * Waits until Postgres and the queue answer, then takes jobs.
   * @throws what waiting does not solve (`migration_needed`, `too_many_connections`);
   * `shutting_down` when it is closed.
   */
  start(): Promise<void>;
  /** Stops taking jobs, gives running events their time, and ends every connection. Bounded. */
  close(): Promise<void>;
}

const STATUS_CLOSE_MS = 1_000;
// A pool waits for the connections that it has lent, and one of them may have lost its server.
const POOL_END_MS = 3_000;

/** A worker process: its status server from the first moment on, and its work. */
export function createWorkerRole(deps: RoleDeps): WorkerRole {
  return new Role(deps);
}

class Role implements WorkerRole {
  private readonly deps: RoleDeps;
  private readonly logError: ErrorLog;
  private readonly observers: Observers;
  private readonly status: Server;
  private readonly closing = new AbortController();
  /** What `/readyz` says while no jobs are taken. */
  private state = "starting";
  private queues: Queues | undefined;
  private tasks: PeriodicTasks | undefined;
  private worker: Worker | undefined;
  private reconciler: RunningReconciler | undefined;
  private closed: Promise<void> | undefined;

  constructor(deps: RoleDeps) {
    const { logger } = deps;
    this.deps = deps;
    this.logError = createErrorLog(logger);
    const registry = createRegistry({ role: "worker" });
    const observed = { registry, logger, logError: this.logError };
    this.observers = {
      processor: observeProcessor({ ...observed, running: () => this.worker?.running ?? 0 }),
      queue: observeQueue(observed),
      reconciler: observeReconciler({
        ...observed,
        leading: () => this.reconciler?.leading ?? false,
      }),
      retention: observeRetention(observed),
    };
    this.status = createServer(
      createStatusApp({
        registry,
        readiness: () => this.readiness(),
        onError: (error) => this.logError("status", error),
      }),
    );
  }

  listen(options: { port: number; host: string }): Promise<number> {
    return listen(this.status, options);
  }

  async start(): Promise<void> {
    const { config, handlers, pool, archiveDir, logger } = this.deps;
    const queues = await this.connect();
    this.queues = queues;
    this.tasks = startPeriodicTasks(
      { pool, archiveDir, observer: this.observers.retention },
      config.retention,
    );
    const ledger = createLedger(
      { pool },
      { ...config.worker, keysDays: config.retention.keysDays },
    );
    const worker = createWorker(
      {
        ledger: ledger.claims,
        queues,
        handlers,
        notify: this.observers.processor,
        onHookError: (error) => this.logError("onFailed", error),
      },
      config,
    );
    this.worker = worker;
    this.reconciler = startReconciler(
      {
        pool,
        ledger,
        queues,
        notify: (notice) => {
          this.observers.reconciler(notice);
          if (notice.kind !== "job_abandoned") return;
          const { source, eventId, generation, type } = notice.event;
          worker.reportAbandoned({ source, eventId, generation }, type, notice.reason);
        },
      },
      config,
    );
    logger.info({ sources: Object.keys(config.sources), queue: queues.backend }, "taking jobs");
  }

  /** Waits until Postgres and the queue answer. */
  private async connect(): Promise<Queues> {
    const { pool, connectionsWanted, openQueues } = this.deps;
    await this.waitFor("Postgres", () => checkSchema(pool));
    await this.waitFor("Postgres", () => checkConnections(pool, connectionsWanted));
    const queues = await this.waitFor("the queue", () => openQueues(this.observers.queue));
    const { signal } = this.closing;
    if (!signal.aborted) return queues;
    await queues.close();
    throw signal.reason;
  }

  private waitFor<T>(what: string, step: () => Promise<T>): Promise<T> {
    return retryUntilAvailable(step, {
      signal: this.closing.signal,
      isAway: isDatabaseUnavailable,
      onAway: (error) => {
        this.state = `waiting for ${what}`;
        this.logError(this.state, error);
      },
    });
  }

  private async readiness(): Promise<Readiness> {
    const { queues, worker } = this;
    if (queues === undefined || worker?.open !== true) {
      return { ready: false, parts: { worker: this.state } };
    }
    return await checkParts(
      { postgres: () => this.deps.pool.query("select 1"), queue: () => queues.ping() },
      { onFailure: (part, error) => this.logError(`readiness: ${part}`, error) },
    );
  }

  close(): Promise<void> {
    return (this.closed ??= this.closeAll());
  }

  /** Closes what was started, also when the start did not get to its end. */
  private async closeAll(): Promise<void> {
    this.state = "closing";
    this.closing.abort(new MillraceError("shutting_down", "Cannot go on: the worker is closing"));
    await Promise.all([this.worker?.close(), this.reconciler?.close()]);
    await Promise.all([this.tasks?.close(), this.queues?.close()]);
    await settlesWithin(this.deps.pool.end(), POOL_END_MS);
    await closeServer(this.status, { timeoutMs: STATUS_CLOSE_MS });
  }
}

interface Observers {
  readonly processor: (notice: Notice) => void;
  readonly queue: Notify;
  readonly reconciler: (notice: ReconcilerNotice) => void;
  readonly retention: RetentionObserver;
}

import { createServer, type Server } from "node:http";
import type { Opening, StoreWatch, WorkerStores } from "@millrace/connect";
import { isMillraceError, MillraceError, type Config, type Handler } from "@millrace/core";
import type { ConnectionReset, Ledger } from "@millrace/ledger";
import type { BulkNotice, ReconcilerNotice } from "@millrace/operations";
import type { Notice } from "@millrace/processor";
import type { Notify } from "@millrace/queue";
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
import { createWorker, type Worker } from "./create-worker.ts";
import { observeBulkRuns } from "./observe-bulk-runs.ts";
import { observeLedger } from "./observe-ledger.ts";
import { observeProcessor } from "./observe-processor.ts";
import { observeQueue } from "./observe-queue.ts";
import { observeReconciler } from "./observe-reconciler.ts";
import { observeRetention, type RetentionObserver } from "./observe-retention.ts";
import { startPeriodicTasks, type PeriodicTasks } from "./periodic-tasks.ts";
import { startReconciler, type RunningReconciler } from "./start-reconciler.ts";

/** What a worker process is made of. The role closes the stores that it opened. */
export interface RoleDeps {
  readonly config: Config;
  readonly handlers: readonly Handler[];
  /** Opens ledger and queues, and waits for their servers. */
  readonly openStores: (watch: StoreWatch) => Opening<WorkerStores>;
  /** Absolute path of the folder for archives, if there is one. */
  readonly archiveDir: string | undefined;
  /** What the files of the project's own code are relative to in stacks. Default: the current folder. */
  readonly projectDir?: string;
  /** Are kept in no error and no line of a handler's log. */
  readonly secrets?: readonly string[];
  readonly logger: Logger;
  /** True lets first attempts of events share a transaction. */
  readonly groups: boolean;
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

/** What is waited for, as `/readyz` names it. */
const SERVERS = { ledger: "Postgres", queue: "the queue" };

/** A worker process: its status server from the first moment on, and its work. */
export function createWorkerRole(deps: RoleDeps): WorkerRole {
  return new Role(deps);
}

class Role implements WorkerRole {
  private readonly deps: RoleDeps;
  private readonly logError: ErrorLog;
  private readonly observers: Observers;
  private readonly status: Server;
  /** What `/readyz` says while no jobs are taken. */
  private state: Readonly<Record<string, string>> = { worker: "starting" };
  private opening: Opening<WorkerStores> | undefined;
  private stores: WorkerStores | undefined;
  private tasks: PeriodicTasks | undefined;
  private worker: Worker | undefined;
  private reconciler: RunningReconciler | undefined;
  private readonly closing = new AbortController();
  private closed: Promise<void> | undefined;

  constructor(deps: RoleDeps) {
    const { logger } = deps;
    this.deps = deps;
    this.logError = createErrorLog(logger);
    const registry = createRegistry({ role: "worker" });
    const observed = { registry, logger, logError: this.logError };
    const sources = Object.keys(deps.config.sources);
    this.observers = {
      processor: observeProcessor({
        ...observed,
        running: () => this.worker?.running ?? 0,
        sources,
      }),
      ledger: observeLedger({ ...observed, sources }),
      queue: observeQueue(observed),
      reconciler: observeReconciler({
        ...observed,
        leading: () => this.reconciler?.leading ?? false,
      }),
      retention: observeRetention(observed),
      bulkRuns: observeBulkRuns(observed),
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
    if (this.closed !== undefined) {
      throw new MillraceError("shutting_down", "Cannot start: the worker is closing");
    }
    const { config, handlers, archiveDir, logger, projectDir, secrets } = this.deps;
    this.opening = this.deps.openStores({
      onError: this.logError,
      onAway: (store, error) => this.waitFor(store, error),
      onFinding: ({ detail, fix }) => logger.warn(`${detail}. ${fix}`),
      onConnections: ({ given, limit, held, pools, mayTake, others }, own) => {
        const told = { given, limit, in_use: Object.fromEntries(held) };
        const taken = { may_take_here: own, may_take: mayTake, pools, others };
        logger.info({ ...told, ...taken }, "connections of Postgres");
      },
      onQueueNotice: this.observers.queue,
      onConnectionReset: this.observers.ledger,
    });
    this.stores = await this.opening.opened;
    const { pool, retentionPool, ledger, queues } = this.stores;
    const leading = () => this.reconciler?.leading ?? false;
    this.tasks = startPeriodicTasks(
      { pool, retentionPool, queues, leading, archiveDir, observer: this.observers.retention },
      config,
    );
    const mayShare = await this.sourcesThatMayShare(ledger.claims);
    const worker = createWorker(
      {
        mayShare,
        ledger: ledger.claims,
        queues,
        handlers,
        projectDir,
        secrets,
        notify: this.observers.processor,
        openLog: (fields) => logger.child(fields),
        onHookError: (error) => this.logError("onFailed", error),
        onLeftBehind: (error) => this.logError("enqueue deferred to the reconciler", error),
      },
      config,
    );
    this.worker = worker;
    this.reconciler = startReconciler(
      {
        pool,
        ledger,
        queues,
        notifyRuns: this.observers.bulkRuns,
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

  /** Which sources' first attempts may share a transaction. The log says so where it is not obvious. */
  private async sourcesThatMayShare(
    claims: Pick<Ledger["claims"], "groupHazards">,
  ): Promise<((source: string) => boolean) | undefined> {
    const { config, groups, logger } = this.deps;
    if (!groups) return undefined;
    // Postgres may go away again after the stores were opened.
    const hazards = await retryUntilAvailable(() => claims.groupHazards(), {
      signal: this.closing.signal,
      onAway: (error) => this.waitFor("ledger", error),
    });
    this.closing.signal.throwIfAborted();
    if (hazards.length === 0) return (source) => config.sources[source]?.options.groups !== false;
    logger.warn(
      { hazards },
      "every event has a transaction of its own, except in sources with groups: true",
    );
    return (source) => config.sources[source]?.options.groups === true;
  }

  private waitFor(store: keyof typeof SERVERS, error: unknown): void {
    const worker = `waiting for ${SERVERS[store]}`;
    const isReadOnly = isMillraceError(error) && error.code === "database_read_only";
    this.state = isReadOnly ? { worker, postgres: error.code } : { worker };
    this.logError(worker, error);
  }

  private async readiness(): Promise<Readiness> {
    const { stores, worker } = this;
    if (stores === undefined || worker?.open !== true) {
      return { ready: false, parts: this.state };
    }
    return await checkParts(
      { postgres: () => stores.ledger.claims.ping(), queue: () => stores.queues.ping() },
      { onFailure: (part, error) => this.logError(`readiness: ${part}`, error) },
    );
  }

  close(): Promise<void> {
    return (this.closed ??= this.closeAll());
  }

  /** Closes what was started, also when the start did not get to its end. */
  private async closeAll(): Promise<void> {
    this.state = { worker: "closing" };
    this.closing.abort(new MillraceError("shutting_down", "Cannot start: the worker is closing"));
    // Stores that are still being opened are given up first, so that no work begins on them.
    if (this.stores === undefined) await this.opening?.close();
    await Promise.all([this.worker?.close(), this.reconciler?.close()]);
    await Promise.all([this.tasks?.close(), this.stores?.queues.close()]);
    await this.opening?.close();
    await closeServer(this.status, { timeoutMs: STATUS_CLOSE_MS });
  }
}

interface Observers {
  readonly processor: (notice: Notice) => void;
  readonly ledger: (reset: ConnectionReset) => void;
  readonly queue: Notify;
  readonly reconciler: (notice: ReconcilerNotice) => void;
  readonly retention: RetentionObserver;
  readonly bulkRuns: (notice: BulkNotice) => void;
}

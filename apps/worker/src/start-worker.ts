import type { WorkerStores } from "@millrace/connect";
import {
  keyOf,
  type Config,
  type EnvelopedEvent,
  type Handler,
  createEnqueueLater,
  type OnEmitted,
  type Tracing,
} from "@millrace/core";
import { Leader } from "@millrace/ledger";
import {
  Reconciler,
  RECONCILER,
  startBulkRunner,
  type DisagreementKind,
} from "@millrace/operations";
import { checkJob, createProcessor, type ProcessorDeps } from "@millrace/processor";
import { retryUntilAvailable, type ErrorLog, type Logger } from "@millrace/service";
import { createQueueLimits, type Queues } from "@millrace/queue";
import type { Observers } from "./observers.ts";
import { startPeriodicTasks } from "./periodic-tasks.ts";

export interface WorkerParts {
  readonly config: Config;
  readonly handlers: readonly Handler[];
  readonly stores: WorkerStores;
  readonly observers: Observers;
  readonly logger: Logger;
  readonly logError: ErrorLog;
  readonly groups: boolean;
  readonly dashboardUrl?: string | undefined;
  readonly projectDir?: string;
  readonly secrets?: readonly string[];
  readonly tracing?: Tracing | undefined;
  /** The end of every wait for Postgres, and a call for each failed try. */
  readonly waiting: { readonly signal: AbortSignal; readonly onAway: (error: unknown) => void };
}

export type RunningWorker = Awaited<ReturnType<typeof startWorker>>;

export async function startWorker(parts: WorkerParts) {
  const { config, handlers, stores, observers, logger, logError } = parts;
  const { pool, retentionPool, ledger, queues } = stores;
  const mayShare = await findSharingSources(parts);
  const worker = createWorker(
    {
      mayShare,
      ledger: ledger.claims,
      queues,
      handlers,
      projectDir: parts.projectDir,
      secrets: parts.secrets,
      tracing: parts.tracing,
      notify: observers.processor,
      openLog: (fields) => logger.child(fields),
      onHookError: (error) => logError("onFailed", error),
      onLeftBehind: (error) => logError("enqueue deferred to the reconciler", error),
    },
    config,
  );
  const reconciler = startReconciler(parts, worker);
  const { leader } = reconciler;
  const tasks = startPeriodicTasks(
    {
      ...{ pool, retentionPool, ledger, queues },
      dashboardUrl: parts.dashboardUrl,
      takeDisagreements: reconciler.takeDisagreements,
      leading: () => leader.leading,
      observer: observers.retention,
    },
    config,
  );
  logger.info({ sources: Object.keys(config.sources), queue: queues.backend }, "taking jobs");
  return {
    worker,
    leader,
    close: async (): Promise<void> => {
      await Promise.all([worker.close(), reconciler.close()]);
      await stores.releaseQueues();
      await Promise.all([tasks.close(), queues.close()]);
    },
  };
}

function startReconciler({ config, stores, observers }: WorkerParts, worker: Worker) {
  const { pool, ledger, queues } = stores;
  const leader = new Leader({ pool }, RECONCILER);
  let disagreements = new Map<DisagreementKind, number>();
  const reconciler = new Reconciler(
    {
      ...{ ledger, queues, leader },
      isSound: (event: EnvelopedEvent) => checkJob({ event }) === undefined,
      notify: (notice) => {
        observers.reconciler(notice);
        if (notice.kind === "passed") {
          for (const [kind, { count, owed }] of notice.found) {
            disagreements.set(kind, (disagreements.get(kind) ?? 0) + count - owed);
          }
        }
        if (notice.kind !== "job_abandoned") return;
        worker.reportAbandoned(keyOf(notice.event), notice.event.type, notice.reason);
      },
    },
    {
      ...config.reconciler,
      sources: Object.keys(config.sources),
      keysDays: config.retention.keysDays,
      queueDepthMax: (source) => config.sources[source]?.options.queueDepthMax ?? 0,
    },
  );
  const bulkRunner = startBulkRunner({
    ...{ ledger, queues },
    leading: () => leader.leading,
    notify: observers.bulkRuns,
  });
  return {
    leader,
    takeDisagreements: () => {
      const taken = disagreements;
      disagreements = new Map();
      return taken;
    },
    close: async () => {
      await Promise.all([reconciler.close(), bulkRunner.close()]);
      await leader.close();
    },
  };
}

async function findSharingSources({ config, stores, groups, logger, waiting }: WorkerParts) {
  if (!groups) return undefined;
  const hazards = await retryUntilAvailable(() => stores.ledger.claims.groupHazards(), waiting);
  waiting.signal.throwIfAborted();
  if (hazards.length === 0)
    return (source: string) => config.sources[source]?.options.groups !== false;
  logger.warn(
    { hazards },
    "every event has a transaction of its own, except in sources with groups: true",
  );
  return (source: string) => config.sources[source]?.options.groups === true;
}

interface WorkerDeps
  extends
    Omit<ProcessorDeps, "sources" | "onEmitted" | "onFailed">,
    Pick<Parameters<typeof createProcessor>[1], "mayShare" | "projectDir" | "secrets"> {
  readonly queues: Pick<Queues, "work" | "backend" | "enqueue" | "pressure" | "signsJobs">;
  readonly onLeftBehind: (error: unknown) => void;
}

export type Worker = ReturnType<typeof createWorker>;

type WorkerConfig = Pick<Config, "sources" | "worker" | "queue" | "errors" | "onFailed">;

const EMITTED_CLOSE_MS = 2_000;

export function createWorker(deps: WorkerDeps, config: WorkerConfig) {
  const { queues, onLeftBehind, mayShare, projectDir, secrets, ...given } = deps;
  const { sources, worker, onFailed } = config;
  const emitted = createEnqueueLater({
    queue: queues,
    markEnqueued: (keys) => given.ledger.markEnqueued(keys),
    onLost: (_, error) => onLeftBehind(error),
  });
  const isQueueFull = createQueueLimits(queues, sources);
  const onEmitted: OnEmitted = (events) => {
    for (const event of events) {
      if (!isQueueFull(event.source)) emitted.add(event, event.afterMs);
    }
  };
  const processor = createProcessor(
    { ...given, sources, onEmitted, onFailed },
    {
      ...worker,
      keepsStacks: config.errors.stack,
      projectDir,
      secrets,
      mayShare,
      signsJobs: queues.signsJobs,
    },
  );
  const workers = queues.work({
    worker,
    // Each event that makes calls admits one more job, so that calls do not reduce the others.
    concurrency: (source) =>
      sources[source]?.options.concurrency ??
      // On Postgres each job is fetched and finished by itself: whole groups ended in deadlocks.
      processor.calling(source) +
        (queues.backend === "redis" ? processor.jobsMax(source) : worker.concurrency),
    rate: (source) => sources[source]?.options.rate,
    ...config.queue,
    // A job of an `ack: "ledger"` source has a body only if Postgres was unavailable.
    keepsBodies: (source) => sources[source]?.options.ack !== "ledger",
    run: processor.process,
    onAbandoned: processor.abandon,
  });

  async function close(): Promise<void> {
    processor.drain();
    await workers.close({ timeoutMs: worker.shutdownTimeoutMs });
    await processor.close();
    await emitted.close(EMITTED_CLOSE_MS);
  }

  let closed: Promise<void> | undefined;
  return {
    get running(): number {
      return processor.running;
    },
    get open(): boolean {
      return closed === undefined;
    },
    reportAbandoned: processor.reportAbandoned,
    /** Takes no more jobs, waits up to `shutdownTimeoutMs`, then rolls back what runs. */
    close: (): Promise<void> => (closed ??= close()),
  };
}

import type { WorkerStores } from "@millrace/connect";
import { keyOf, type Config, type EnvelopedEvent, type Handler } from "@millrace/core";
import { createLeader } from "@millrace/ledger";
import {
  Reconciler,
  RECONCILER,
  startBulkRunner,
  type DisagreementKind,
} from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import { retryUntilAvailable, type ErrorLog, type Logger } from "@millrace/service";
import { createWorker, type Worker } from "./create-worker.ts";
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
  readonly archiveDir: string | undefined;
  readonly dashboardUrl?: string | undefined;
  readonly projectDir?: string;
  readonly secrets?: readonly string[];
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
      notify: observers.processor,
      openLog: (fields) => logger.child(fields),
      onHookError: (error) => logError("onFailed", error),
      onLeftBehind: (error) => logError("enqueue deferred to the reconciler", error),
    },
    config,
  );
  const reconciler = startReconciler(parts, worker);
  const tasks = startPeriodicTasks(
    {
      ...{ pool, retentionPool, ledger, queues, archiveDir: parts.archiveDir },
      dashboardUrl: parts.dashboardUrl,
      takeDisagreements: reconciler.takeDisagreements,
      leading: () => reconciler.leading,
      observer: observers.retention,
    },
    config,
  );
  logger.info({ sources: Object.keys(config.sources), queue: queues.backend }, "taking jobs");
  return {
    get running() {
      return worker.running;
    },
    get open() {
      return worker.open;
    },
    get leading() {
      return reconciler.leading;
    },
    close: async (): Promise<void> => {
      await Promise.all([worker.close(), reconciler.close()]);
      await stores.releaseQueues();
      await Promise.all([tasks.close(), queues.close()]);
    },
  };
}

function startReconciler({ config, stores, observers }: WorkerParts, worker: Worker) {
  const { pool, ledger, queues } = stores;
  const leader = createLeader({ pool }, RECONCILER);
  let disagreements = new Map<DisagreementKind, number>();
  const reconciler = new Reconciler(
    {
      ...{ pool, ledger, queues, leader },
      isSound: (event: EnvelopedEvent) => checkJob({ event }) === undefined,
      notify: (notice) => {
        observers.reconciler(notice);
        if (notice.kind === "passed") {
          for (const [kind, { count }] of notice.found) {
            disagreements.set(kind, (disagreements.get(kind) ?? 0) + count);
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
    ...{ pool, ledger, queues },
    leading: () => leader.leading,
    notify: observers.bulkRuns,
  });
  return {
    get leading() {
      return leader.leading;
    },
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

async function findSharingSources(
  parts: WorkerParts,
): Promise<((source: string) => boolean) | undefined> {
  const { config, stores, groups, logger, waiting } = parts;
  if (!groups) return undefined;
  const hazards = await retryUntilAvailable(() => stores.ledger.claims.groupHazards(), waiting);
  waiting.signal.throwIfAborted();
  if (hazards.length === 0) return (source) => config.sources[source]?.options.groups !== false;
  logger.warn(
    { hazards },
    "every event has a transaction of its own, except in sources with groups: true",
  );
  return (source) => config.sources[source]?.options.groups === true;
}

import type { Config, Handler } from "@millrace/core";
import { checkSchema, createLedger, isDatabaseTrouble } from "@millrace/ledger";
import type { ReconcilerNotice } from "@millrace/operations";
import type { Notice } from "@millrace/processor";
import type { Notify, Queues } from "@millrace/queue";
import { patiently } from "@millrace/service";
import { checkConnections } from "./connection-budget.ts";
import { createWorker, type Worker } from "./create-worker.ts";
import { startReconciler, type RunningReconciler } from "./start-reconciler.ts";
import { startUpkeep, type UpkeepDeps } from "./start-upkeep.ts";

export interface WorkDeps extends UpkeepDeps {
  readonly config: Config;
  readonly handlers: readonly Handler[];
  /** Opens the queues; asked again while their server is away. */
  openQueues(notify: Notify): Promise<Queues>;
  /** Connections that the process may need of Postgres, the queues' among them. */
  readonly connectionsWanted: number;
  readonly notify: (notice: Notice) => void;
  readonly notifyQueue: Notify;
  readonly notifyReconciler: (notice: ReconcilerNotice) => void;
  /** Hears, again and again, what the start waits for and why. */
  readonly onWaiting: (what: string, error: unknown) => void;
  /** Hears what the user's `onFailed` threw. */
  readonly onHookError: (error: unknown) => void;
}

/** A worker at work. */
export interface Work {
  readonly queues: Queues;
  readonly worker: Worker;
  readonly reconciler: Pick<RunningReconciler, "leading">;
  /** Ends everything but the pool. */
  close(): Promise<void>;
}

/**
 * Waits until Postgres and the queue answer, then takes jobs.
 *
 * @throws `migration_needed`, `too_many_connections` and what else waiting does not mend; the
 * signal's reason when it aborts.
 */
export async function beginWork(deps: WorkDeps, signal: AbortSignal): Promise<Work> {
  const { config, pool } = deps;
  const waitFor = <T>(what: string, step: () => Promise<T>) =>
    patiently(step, {
      signal,
      isAway: isDatabaseTrouble,
      onAway: (error) => deps.onWaiting(what, error),
    });

  await waitFor("Postgres", () => checkSchemaOf(pool));
  await waitFor("Postgres", () => checkConnections(pool, deps.connectionsWanted));
  const queues = await waitFor("the queue", () => deps.openQueues(deps.notifyQueue));
  if (signal.aborted) {
    await queues.close();
    throw signal.reason;
  }
  const upkeep = startUpkeep(deps, config);
  const ledger = createLedger({ pool }, { ...config.worker, keysDays: config.retention.keysDays });
  const { handlers, notify, onHookError } = deps;
  const worker = createWorker(
    { ledger, queues, handlers, isDatabaseTrouble, notify, onHookError },
    config,
  );
  const reconciler = startReconciler(
    {
      ...{ pool, ledger, queues },
      notify: (notice) => {
        deps.notifyReconciler(notice);
        if (notice.kind === "gave_up") worker.tellGivenUp(notice.event, notice.reason);
      },
    },
    config,
  );
  return {
    queues,
    worker,
    reconciler,
    close: async () => {
      await Promise.all([worker.close(), reconciler.close()]);
      await Promise.all([upkeep.close(), queues.close()]);
    },
  };
}

async function checkSchemaOf(pool: WorkDeps["pool"]): Promise<void> {
  await checkSchema(pool);
}

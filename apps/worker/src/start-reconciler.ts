import type { Config, EnvelopedEvent } from "@millrace/core";
import { createLeader, type createPool, type Ledger } from "@millrace/ledger";
import {
  createReconciler,
  RECONCILER,
  startBulkRunner,
  type BulkNotice,
  type ReconcilerNotice,
} from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";

interface Deps {
  readonly pool: ReturnType<typeof createPool>;
  readonly ledger: Ledger;
  readonly queues: Queues;
  readonly notify: (notice: ReconcilerNotice) => void;
  readonly notifyRuns: (notice: BulkNotice) => void;
}

/** The worker's reconciler. */
export interface RunningReconciler {
  /** True while this process is the one that reconciles. */
  readonly leading: boolean;
  /** Ends the current pass and batch, and gives up the lead. */
  close(): Promise<void>;
}

/** Compares ledger and queues, repairs them, and works bulk runs off, whenever no other worker does. */
export function startReconciler(deps: Deps, config: Config): RunningReconciler {
  const leader = createLeader({ pool: deps.pool }, RECONCILER);
  const isSound = (event: EnvelopedEvent) => checkJob({ event }) === undefined;
  const reconciler = createReconciler(
    { ...deps, leader, isSound },
    {
      ...config.reconciler,
      sources: Object.keys(config.sources),
      keysDays: config.retention.keysDays,
      queueDepthMax: (source) => config.sources[source]?.options.queueDepthMax ?? 0,
    },
  );
  const bulkRunner = startBulkRunner({
    ...deps,
    leading: () => leader.leading,
    notify: deps.notifyRuns,
  });
  return {
    get leading() {
      return leader.leading;
    },
    close: async () => {
      await Promise.all([reconciler.close(), bulkRunner.close()]);
      await leader.close();
    },
  };
}

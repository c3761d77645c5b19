import type { Config, EnvelopedEvent } from "@millrace/core";
import { createLeader, type createPool, type Ledger } from "@millrace/ledger";
import { createReconciler, RECONCILER, type ReconcilerNotice } from "@millrace/operations";
import { checkJob } from "@millrace/processor";
import type { Queues } from "@millrace/queue";

interface Deps {
  readonly pool: ReturnType<typeof createPool>;
  readonly ledger: Ledger;
  readonly queues: Queues;
  readonly notify: (notice: ReconcilerNotice) => void;
}

/** The worker's reconciler. */
export interface RunningReconciler {
  /** True while this process is the one that reconciles. */
  readonly leading: boolean;
  /** Ends the current pass and gives up the lead. */
  close(): Promise<void>;
}

/** Compares ledger and queues, and repairs them, whenever no other worker does. */
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
  return {
    get leading() {
      return leader.leading;
    },
    close: async () => {
      await reconciler.close();
      leader.close();
    },
  };
}

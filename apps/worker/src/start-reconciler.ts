import type { Config } from "@millrace/core";
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
  /** Whether this process is the one that reconciles. */
  readonly leading: boolean;
  /** Ends the pass that is on and gives up the lead. */
  close(): Promise<void>;
}

/** Reconciles ledger and queues whenever no other worker does. */
export function startReconciler(deps: Deps, config: Config): RunningReconciler {
  const leader = createLeader({ pool: deps.pool }, RECONCILER);
  const isSound = (event: Parameters<typeof checkJob>[0]["event"]) =>
    checkJob({ event }) === undefined;
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

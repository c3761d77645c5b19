import type { Logger, TroubleLog } from "@millrace/service";
import { createRetentionLog } from "./log-retention.ts";
import { createRetentionMetrics } from "./retention-metrics.ts";
import type { UpkeepDeps } from "./start-upkeep.ts";

type Listeners = Pick<UpkeepDeps, "notifyRetention" | "onRetention" | "onUpkeepError">;

/** What the upkeep does is counted, then logged. */
export function createUpkeepListeners(deps: {
  readonly registry: Parameters<typeof createRetentionMetrics>[0];
  readonly logger: Logger;
  readonly trouble: TroubleLog;
}): Listeners {
  const metrics = createRetentionMetrics(deps.registry);
  const log = createRetentionLog(deps.logger);
  return {
    notifyRetention: (notice) => {
      metrics.observe(notice);
      log.log(notice);
    },
    onRetention: (result) => {
      metrics.observeResult(result);
      log.logResult(result);
    },
    onUpkeepError: (chore, error) => {
      if (chore === "retention") metrics.observeFailure();
      deps.trouble(chore, error);
    },
  };
}

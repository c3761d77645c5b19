import type { ConnectionReset } from "@millrace/ledger";
import type { BulkNotice } from "@millrace/operations";
import type { QueueNotice } from "@millrace/queue";
import { metricsOf } from "@millrace/service";
import { observeProcessor, type ObserverDeps } from "./observe-processor.ts";
import { observeReconciler } from "./observe-reconciler.ts";
import { observeRetention } from "./observe-retention.ts";

export type Observers = ReturnType<typeof createObservers>;

export function createObservers(deps: ObserverDeps) {
  return {
    processor: observeProcessor(deps),
    ledger: observeLedger(deps),
    queue: observeQueue(deps),
    reconciler: observeReconciler(deps),
    retention: observeRetention(deps),
    bulkRuns: observeBulkRuns(deps),
  };
}

const RESET_REASONS: Readonly<Record<ConnectionReset["reason"], string>> = {
  session:
    "a handler sent SET, LISTEN, PREPARE or the like; each such event costs a new connection",
  uncleaned: "what a handler may have left on it could not be removed",
};

export function observeLedger({
  registry,
  logError,
  sources,
}: Pick<ObserverDeps, "registry" | "logError" | "sources">): (reset: ConnectionReset) => void {
  const resets = metricsOf(registry).counter(
    "millrace_worker_connections_reset_total",
    "Connections to Postgres that were closed because of what a handler did to them, by source and reason (session: it changed the session; uncleaned: what it left could not be removed).",
    "source",
    "reason",
  );
  // An alert needs a 0 before the first reset.
  for (const source of sources) {
    for (const reason of Object.keys(RESET_REASONS)) resets.inc({ source, reason }, 0);
  }
  return ({ source, reason }) => {
    resets.inc({ source, reason });
    logError(`connection closed: ${source}`, RESET_REASONS[reason]);
  };
}

export function observeQueue({
  registry,
  logger,
  logError,
}: Pick<ObserverDeps, "registry" | "logger" | "logError">): (notice: QueueNotice) => void {
  const { counter } = metricsOf(registry);
  const locksLost = counter(
    "millrace_worker_locks_lost_total",
    "Jobs whose lock in the queue was lost while they ran.",
    "source",
  );
  const stalled = counter(
    "millrace_worker_stalled_total",
    "Jobs whose worker stopped renewing their lock.",
    "source",
  );
  return (notice) => {
    switch (notice.kind) {
      case "background_error":
        return logError(`queue: ${notice.cause}`, notice.error);
      case "backed_off":
        return logError("queue: backing off", `too many errors from source ${notice.source}`);
      case "stalled":
        stalled.inc({ source: notice.source });
        return logError(
          "queue: stalled",
          `job ${notice.jobId} of ${notice.source} lost its worker`,
        );
      case "lock_lost":
        locksLost.inc({ source: notice.source });
        return logError(
          "queue: lock lost",
          `job ${notice.jobId} of ${notice.source} lost its lock`,
        );
      case "job_abandoned":
      case "refused":
        return logger.error(notice, "job failed by the queue");
    }
  };
}

function observeBulkRuns({ logger, logError }: ObserverDeps): (notice: BulkNotice) => void {
  return (notice) => {
    switch (notice.kind) {
      case "started":
      case "ended": {
        const { id, verb } = notice.run;
        return logger.info({ run: id, verb }, `bulk run ${notice.kind}`);
      }
      case "waits":
      case "failed":
        return logError(`bulk run ${notice.run.id} ${notice.kind}`, notice.error);
      case "unreadable":
        return logError("bulk runs", notice.error);
    }
  };
}

import type { QueueNotice } from "@millrace/queue";
import type { ErrorLog, Logger } from "@millrace/service";
import { Counter, type Registry } from "prom-client";

/** Counts what the queue reports of its jobs and its server, then logs it. */
export function observeQueue(deps: {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly logError: ErrorLog;
}): (notice: QueueNotice) => void {
  const count = createQueueMetrics(deps.registry);
  const { logger, logError } = deps;
  return (notice) => {
    count(notice);
    switch (notice.kind) {
      case "background_error":
        return logError(`queue: ${notice.cause}`, notice.error);
      case "backed_off":
        return logError("queue: backing off", `too many errors from source ${notice.source}`);
      case "stalled":
        return logError(
          "queue: stalled",
          `job ${notice.jobId} of ${notice.source} lost its worker`,
        );
      case "lock_lost":
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

function createQueueMetrics(registry: Registry): (notice: QueueNotice) => void {
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Counter({ name: `millrace_worker_${name}_total`, help, labelNames, registers: [registry] });
  const locksLost = counter("locks_lost", "Jobs whose lock in the queue was lost while they ran.", [
    "source",
  ]);
  const stalled = counter("stalled", "Jobs whose worker stopped renewing their lock.", ["source"]);
  const abandoned = counter("jobs_abandoned", "Jobs that BullMQ failed without running them.", [
    "source",
  ]);
  const refused = counter(
    "jobs_rejected",
    "Jobs that this version did not write or cannot read, by source and error code.",
    ["source", "code"],
  );
  const errors = counter("queue_errors", "Background errors of the queue.", []);
  return (notice) => {
    switch (notice.kind) {
      case "lock_lost":
        return locksLost.inc({ source: notice.source });
      case "stalled":
        return stalled.inc({ source: notice.source });
      case "job_abandoned":
        return abandoned.inc({ source: notice.source });
      case "refused":
        return refused.inc({ source: notice.source, code: notice.code });
      case "background_error":
      case "backed_off":
        return errors.inc();
    }
  };
}

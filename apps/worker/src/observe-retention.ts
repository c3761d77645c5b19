import type { RetentionNotice, RetentionResult } from "@millrace/operations";
import { metricsOf, type Logger } from "@millrace/service";
import type { ObserverDeps } from "./observe-processor.ts";

export type RetentionObserver = ReturnType<typeof observeRetention>;

export function observeRetention({
  registry,
  logger,
  logError,
}: Pick<ObserverDeps, "registry" | "logger" | "logError">) {
  const { counter, gauge } = metricsOf(registry);
  const failures = counter("millrace_retention_failures_total", "Runs that failed.");
  const lastSuccess = gauge(
    "millrace_retention_last_success_timestamp_seconds",
    "When this process last completed a run, in Unix time.",
  );
  const oldest = gauge(
    "millrace_retention_oldest_bodies_timestamp_seconds",
    "Start of the oldest day whose bodies are kept, in Unix time, at the last run.",
  );
  return {
    onNotice: (notice: RetentionNotice): void => logNotice(notice, logger),
    /** Of several workers, only the one that ran it last counts. */
    onResult(result: RetentionResult): void {
      if (result.kind === "taken") return;
      lastSuccess.setToCurrentTime();
      if (result.oldestDay !== undefined) oldest.set(Date.parse(result.oldestDay) / 1_000);
      if (result.keysDeleted === 0) return;
      logger.info({ events: result.keysDeleted }, "old events deleted");
    },
    onError(task: PeriodicTask, error: unknown): void {
      if (task === "retention") failures.inc();
      logError(task, error);
    },
  };
}

export type PeriodicTask = "partitions" | "retention" | "completed jobs" | "activity" | "alerts";

function logNotice(notice: RetentionNotice, logger: Logger): void {
  const { kind } = notice;
  switch (kind) {
    case "dropped":
      return logger.info({ day: notice.day, bytes: notice.bytes }, "bodies dropped");
    case "busy":
      return logger.warn(
        { day: notice.day },
        "bodies are in use; they will be dropped in the next run",
      );
    case "moved": {
      const { day, events } = notice;
      return logger.info({ day, events }, "bodies of unfinished events moved");
    }
    case "keys_deleted":
      return;
  }
}

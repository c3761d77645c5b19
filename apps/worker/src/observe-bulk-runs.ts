import type { BulkNotice } from "@millrace/operations";
import type { ErrorLog, Logger } from "@millrace/service";
import { Gauge, type Registry } from "prom-client";

interface Deps {
  readonly registry: Registry;
  readonly logger: Logger;
  readonly logError: ErrorLog;
}

/** Logs what happens to bulk runs, and counts those that are open. */
export function observeBulkRuns({
  registry,
  logger,
  logError,
}: Deps): (notice: BulkNotice) => void {
  const open = new Gauge({
    name: "millrace_bulk_runs_open",
    help: "Bulk runs that are running or paused, as the one worker that runs them reports it.",
    registers: [registry],
  });
  return (notice) => {
    switch (notice.kind) {
      case "open":
        return open.set(notice.runs);
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

import type { RetentionNotice, RetentionResult } from "@millrace/operations";
import type { Logger } from "@millrace/service";

/** Turns what the retention tells into log lines: one a day of bodies, and one a run that did anything. */
export function createRetentionLog(logger: Logger): {
  log(notice: RetentionNotice): void;
  logResult(result: RetentionResult): void;
} {
  return {
    log(notice) {
      switch (notice.kind) {
        case "archived":
          return logger.info(
            { day: notice.day, events: notice.events, file: notice.file },
            "bodies archived",
          );
        case "dropped":
          return logger.info({ day: notice.day, bytes: notice.bytes }, "bodies dropped");
        case "busy":
          return logger.warn(
            { day: notice.day },
            "bodies are in use; they are dropped the next time",
          );
        case "moved":
          return logger.info(
            { day: notice.day, events: notice.events },
            "bodies of events not completed moved on",
          );
        case "archiving":
        case "keys_deleted":
          return;
      }
    },
    logResult(result) {
      if (result.kind === "taken" || result.keysDeleted === 0) return;
      logger.info({ events: result.keysDeleted }, "old events deleted");
    },
  };
}

import type { ReconcilerNotice } from "@millrace/operations";
import { createTroubleLog, type Logger } from "@millrace/service";

/** Turns what the reconciler tells into log lines: one a pass that found anything, with a few examples. */
export function createReconcilerLog(logger: Logger): (notice: ReconcilerNotice) => void {
  const trouble = createTroubleLog(logger);
  return (notice) => {
    switch (notice.kind) {
      case "queue_changed":
        return logger.warn(
          { sources: notice.sources },
          "queues are new, restarted, flushed or restored; all that is pending is compared with them",
        );
      case "progress":
        return logger.info({ looked: notice.looked, mended: notice.mended }, "reconciling");
      case "passed":
        if (notice.found.size === 0 && !notice.whole) return;
        return logger.info(passFields(notice), "reconciled");
      case "gave_up":
        return trouble(
          "reconciler: failed",
          `event ${notice.event.eventId} of ${notice.event.source}: ${notice.reason}`,
        );
      case "trouble":
        return trouble("reconciler", notice.error);
      case "follows":
        return;
    }
  };
}

function passFields({ found, mended, looked, tookMs }: ReconcilerNotice & { kind: "passed" }) {
  const kinds = [...found].map(([kind, { count, examples }]) => {
    const shown = examples.map(({ source, eventId, generation }) => ({
      ...{ source, event_id: eventId, generation },
    }));
    return [kind, { count, examples: shown }] as const;
  });
  return { looked, mended, took_ms: tookMs, found: Object.fromEntries(kinds) };
}

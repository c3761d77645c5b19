import type { Notice } from "@millrace/processor";
import type { QueueNotice } from "@millrace/queue";
import { createTroubleLog, type Logger, type TroubleLog } from "@millrace/service";

const MESSAGE_CHARS_MAX = 500;

/** Turns notices into log lines: no body, no header, and one line a second for a dead server. */
export function createNoticeLog(logger: Logger): {
  log(notice: Notice): void;
  logQueue(notice: QueueNotice): void;
} {
  const trouble = createTroubleLog(logger);

  function logFailure(notice: Notice & { kind: "attempt_failed" }): void {
    const { key, attempt, code, final, counts } = notice;
    const message = notice.message.slice(0, MESSAGE_CHARS_MAX);
    if (!counts) return trouble(`attempt: ${code}`, message);
    const fields = { ...names(key), attempt, code, reason: message };
    if (final) logger.error(fields, "event failed");
    else logger.warn(fields, "attempt failed");
  }

  return {
    log(notice) {
      switch (notice.kind) {
        case "claimed":
          return;
        case "conflict":
          return trouble(
            `conflict: ${notice.key.source}`,
            `event ${notice.key.eventId} came with another body; the first is kept`,
          );
        case "settled":
          if (notice.settlement === "failed" && notice.handlerMs === undefined) {
            return trouble(
              `refused: ${notice.code}`,
              `a job of source ${notice.key.source} was failed`,
            );
          }
          return logger.debug({ ...names(notice.key), ...ends(notice) }, "settled");
        case "attempt_failed":
          return logFailure(notice);
        case "unrecorded":
          return trouble(`ledger: ${notice.step}`, notice.message);
        case "handler_ignored_abort":
          return logger.warn(names(notice.key), "a handler goes on after its signal has aborted");
      }
    },
    logQueue: (notice) => logQueue(notice, { logger, trouble }),
  };
}

function logQueue(
  notice: QueueNotice,
  { logger, trouble }: { logger: Logger; trouble: TroubleLog },
): void {
  switch (notice.kind) {
    case "trouble":
      return trouble(`queue: ${notice.cause}`, notice.error);
    case "rested":
      return trouble("queue: resting", `errors of source ${notice.source} come too fast`);
    case "stalled":
      return trouble("queue: stalled", `job ${notice.jobId} of ${notice.source} lost its worker`);
    case "lock_lost":
      return trouble("queue: lock lost", `job ${notice.jobId} of ${notice.source} lost its lock`);
    case "gave_up":
    case "refused":
      return logger.error(notice, "the queue failed a job");
  }
}

function names(key: Notice["key"]): { source: string; event_id: string; generation: number } {
  return { source: key.source, event_id: key.eventId, generation: key.generation };
}

function ends(notice: Notice & { kind: "settled" }) {
  const { settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs } = notice;
  return { settlement, outcome, code, handlerMs, sinceReceivedMs, queueAgeMs };
}

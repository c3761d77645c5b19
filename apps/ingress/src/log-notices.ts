import { ERROR_CODES } from "@millrace/core";
import type { IntakeNotice, Notify } from "@millrace/intake";
import { createErrorLog, type Logger } from "@millrace/service";

const REJECTION_INTERVAL_MS = 10_000;

/** Turns notices into log lines: no secret, no body, and no line for each request of a flood. */
export function logNotices(logger: Logger): Notify {
  const logError = createErrorLog(logger);
  const rejections = createErrorLog(logger, { intervalMs: REJECTION_INTERVAL_MS });
  return (notice) => {
    if (notice.kind === "store_failed") return logError(notice.store, notice.error);
    if (notice.kind === "left_behind")
      return logError("enqueue deferred to the reconciler", notice.error);
    if (notice.kind === "redelivered") return logRedelivery(notice);
    if (notice.kind === "conflict") return logConflict(notice);
    if (notice.kind === "unexpected") {
      return logError(`unexpected: ${notice.source ?? "unknown"}`, withoutMessage(notice.error));
    }
    if (notice.kind === "answered") logRejection(notice);
  };

  function logRedelivery({ source, error }: IntakeNotice & { kind: "redelivered" }): void {
    if (error !== undefined) logError(`redelivery: ${source}`, error);
  }

  // An investigation needs the id. The sender of the body is the one that has signed it.
  function logConflict({ source, eventId }: IntakeNotice & { kind: "conflict" }): void {
    rejections(
      `conflict: ${source}`,
      `a different body was delivered under the id ${JSON.stringify(eventId)}`,
    );
  }

  function logRejection({ source, code }: IntakeNotice & { kind: "answered" }): void {
    // A store that fails has been logged already.
    if (code === undefined || code === "unavailable") return;
    rejections(`rejected: ${source ?? "unknown"}: ${code}`, ERROR_CODES[code].meaning);
  }
}

// A provider's error may quote the body: JSON.parse does. Where it came from is enough.
function withoutMessage(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const frames = (error.stack ?? "").split("\n").filter((line) => line.startsWith("    at "));
  return [error.name, ...frames.slice(0, 3).map((line) => line.trim())].join(" ");
}

import { ERROR_CODES } from "@millrace/core";
import type { IntakeNotice, Notify } from "@millrace/intake";
import { createTroubleLog, type Logger } from "@millrace/service";

const REJECTION_INTERVAL_MS = 10_000;

/** Turns notices into log lines: no secret, no body, and no line for each request of a flood. */
export function logNotices(logger: Logger): Notify {
  const trouble = createTroubleLog(logger);
  const rejections = createTroubleLog(logger, { intervalMs: REJECTION_INTERVAL_MS });
  return (notice) => {
    if (notice.kind === "place_failed") return trouble(notice.place, notice.error);
    if (notice.kind === "left_behind") return trouble("left to the reconciler", notice.error);
    if (notice.kind === "redelivered") return logRedelivery(notice);
    if (notice.kind === "conflict") return logConflict(notice);
    if (notice.kind === "unexpected") {
      return trouble(`unexpected: ${notice.source ?? "unknown"}`, withoutMessage(notice.error));
    }
    if (notice.kind === "answered") logRejection(notice);
  };

  function logRedelivery({ source, error }: IntakeNotice & { kind: "redelivered" }): void {
    if (error !== undefined) trouble(`retry of a failed event: ${source}`, error);
  }

  // Whoever looks into it needs the id; the body's sender is the one that has signed it.
  function logConflict({ source, eventId }: IntakeNotice & { kind: "conflict" }): void {
    rejections(`conflict: ${source}`, `another body came under the id ${JSON.stringify(eventId)}`);
  }

  function logRejection({ source, code }: IntakeNotice & { kind: "answered" }): void {
    // A place that fails has been told already.
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

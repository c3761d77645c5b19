import { errorText } from "@millrace/core";
import type { Logger } from "./logger.ts";

/** @param line - the message, "background error" by default, and fields of the log's line. */
export type ErrorLog = (
  cause: string,
  error: unknown,
  line?: { readonly message?: string } & Readonly<Record<string, string | number>>,
) => void;

/**
 * A dead server fails thousands of calls a second, so each cause gets one line per `intervalMs`
 * (1,000 by default). The next line counts those left out (`suppressed`).
 */
export function createErrorLog(
  logger: Logger,
  { intervalMs = 1_000, nowMs = Date.now }: { intervalMs?: number; nowMs?: () => number } = {},
): ErrorLog {
  const causes = new Map<string, { lastMs: number; suppressed: number }>();
  return (cause, error, { message = "background error", ...fields } = {}) => {
    const seen = causes.get(cause);
    const now = nowMs();
    if (seen !== undefined && now - seen.lastMs < intervalMs) {
      seen.suppressed += 1;
      return;
    }
    causes.set(cause, { lastMs: now, suppressed: 0 });
    const suppressed = seen?.suppressed ?? 0;
    logger.warn({ cause, ...fields, suppressed, reason: reasonOf(error) }, message);
  };
}

/** An error in one line of at most 500 characters: its code and its message. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 500);
  const [said = ""] = errorText(error).split("\nRequire stack:");
  const code = "code" in error && typeof error.code === "string" ? `${error.code}: ` : "";
  return `${said.startsWith(code) ? "" : code}${said}`.slice(0, 500);
}

/** Keeps the process alive: a handler can leave a promise behind, such as a write through `tx`. */
export function logUnhandledRejections(logger: Logger): void {
  process.on("unhandledRejection", (reason) => {
    logger.error({ reason: reasonOf(reason) }, "unhandled promise rejection");
  });
}

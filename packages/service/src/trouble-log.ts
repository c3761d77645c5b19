import type { Logger } from "./logger.ts";

/** Says that something outside is in trouble, at most once an interval for each cause. */
export type TroubleLog = (cause: string, error: unknown) => void;

/**
 * A dead Redis or Postgres fails thousands of calls a second; a log that repeats each of them
 * hides the one line that matters. What was left out is counted in the next line.
 *
 * @param options.intervalMs - milliseconds between two lines of one cause; 1,000 by default.
 */
export function createTroubleLog(
  logger: Logger,
  options: { intervalMs?: number; nowMs?: () => number } = {},
): TroubleLog {
  const intervalMs = options.intervalMs ?? 1_000;
  const nowMs = options.nowMs ?? Date.now;
  const causes = new Map<string, { lastMs: number; suppressed: number }>();
  return (cause, error) => {
    const seen = causes.get(cause);
    const now = nowMs();
    if (seen !== undefined && now - seen.lastMs < intervalMs) {
      seen.suppressed += 1;
      return;
    }
    causes.set(cause, { lastMs: now, suppressed: 0 });
    logger.warn({ cause, suppressed: seen?.suppressed ?? 0, reason: reasonOf(error) }, "trouble");
  };
}

/** An error in one line: its code, unless its message begins with it, and its message, cut to 500 characters. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 500);
  // Node gives an AggregateError without a message when every address of a host refused.
  const first = error instanceof AggregateError ? error.errors[0] : undefined;
  const message = error.message === "" && first instanceof Error ? first.message : error.message;
  const [said = ""] = message.split("\nRequire stack:");
  const code = "code" in error && typeof error.code === "string" ? `${error.code}: ` : "";
  return `${said.startsWith(code) ? "" : code}${said}`.slice(0, 500);
}

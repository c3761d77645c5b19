import { MillraceError, type AttemptLimits } from "@millrace/core";
import { SQLSTATE, sqlStateOf } from "./sqlstate.ts";

/** The clock and the signal of one attempt. */
export interface AttemptWatch {
  /** True once the time was up or the signal aborted. */
  readonly stopped: boolean;
  /**
   * Waits for a promise, but no longer than the attempt may take. A query that Postgres cancelled
   * when the time was up is the time's fault as well: its timer may strike before ours.
   */
  race<T>(promise: Promise<T>): Promise<T>;
  /** Hears nothing any more. */
  disarm(): void;
}

/** Watches an attempt's limits until it is disarmed. */
export function watchAttempt({ signal, timeoutMs }: AttemptLimits): AttemptWatch {
  const startedAt = performance.now();
  let stopped = false;
  let stop: (reason: unknown) => void = () => {};
  const stopping = new Promise<never>((_, reject) => {
    stop = (reason) => {
      stopped = true;
      // The signal's reason is whatever its owner gave; it is thrown on as it is.
      reject(reason);
    };
  });
  // Nobody may be racing when it strikes.
  stopping.catch(() => {});
  const onAbort = () => stop(signal.reason);
  const timer = setTimeout(() => stop(timedOut(timeoutMs)), timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const isOver = () => performance.now() - startedAt >= timeoutMs;
  return {
    get stopped() {
      return stopped;
    },
    race: async (promise) => {
      try {
        return await Promise.race([promise, stopping]);
      } catch (error) {
        const isCancelled = sqlStateOf(error) === SQLSTATE.queryCanceled;
        throw isCancelled && isOver() ? timedOut(timeoutMs, error) : error;
      }
    },
    disarm: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

function timedOut(timeoutMs: number, cause?: unknown): MillraceError {
  return new MillraceError(
    "handler_timeout",
    `Cannot wait longer than ${timeoutMs} ms for the handler`,
    { cause },
  );
}

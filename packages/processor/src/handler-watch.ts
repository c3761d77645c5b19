import { MillraceError, type Outcome } from "@millrace/core";
import type { AttemptSignal } from "./attempt-signal.ts";
import { readableError } from "./readable-error.ts";

/**
 * Keeps the time of one attempt's handlers, aborts their signal when it is up, and remembers how
 * they ended: the ledger may have turned away from them before that.
 */
export function createHandlerWatch(timeoutMs: number): HandlerWatch {
  let startedMs: number | undefined;
  let endedMs: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  let outcome: Outcome | undefined;
  let thrown: Thrown | undefined;

  return {
    async run(signal, work) {
      startedMs = performance.now();
      timer = setTimeout(() => signal.abort(timeoutError(timeoutMs)), timeoutMs);
      try {
        outcome = await work();
        return outcome;
      } catch (unread) {
        const error = readableError(unread);
        thrown = { error, brokenOff: signal.signal.aborted ? signal.signal.reason : undefined };
        throw error;
      } finally {
        clearTimeout(timer);
        endedMs = performance.now();
      }
    },
    stop: () => clearTimeout(timer),
    get outcome() {
      return outcome;
    },
    get thrown() {
      return thrown;
    },
    get isRunning() {
      return startedMs !== undefined && endedMs === undefined;
    },
    get ranMs() {
      return startedMs === undefined ? undefined : (endedMs ?? performance.now()) - startedMs;
    },
  };
}

export interface HandlerWatch {
  /** Runs the handlers; once. */
  run(signal: AttemptSignal, work: () => Promise<Outcome>): Promise<Outcome>;
  /** Forgets the timer. */
  stop(): void;
  readonly outcome: Outcome | undefined;
  readonly thrown: Thrown | undefined;
  readonly isRunning: boolean;
  /** Milliseconds that the handlers ran, or have run until now; undefined when none was begun. */
  readonly ranMs: number | undefined;
}

/** What the handlers threw, and why they had been broken off by then, if they had. */
interface Thrown {
  readonly error: unknown;
  readonly brokenOff: unknown;
}

function timeoutError(timeoutMs: number): MillraceError {
  return new MillraceError(
    "handler_timeout",
    `Cannot finish handler: it ran longer than ${timeoutMs} ms`,
  );
}

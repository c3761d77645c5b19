import { MillraceError, type EventJob, type EventKey, type Outcome } from "@millrace/core";
import { SQLSTATE, sqlStateOf, type Ledger } from "@millrace/ledger";
import { readableError } from "./describe-error.ts";
import type { Notice } from "./notices.ts";
import type { FailedAttempt } from "./retry-policy.ts";
import type { Handlers } from "./run-handlers.ts";

/** How one attempt ended, and how long its handlers ran. */
export type AttemptEnd = { readonly handlerMs: number | undefined } & (
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "lost" }
  | ({ readonly kind: "failed" } & FailedAttempt)
);

interface AttemptDeps {
  readonly ledger: Pick<Ledger["claims"], "attempt">;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  readonly notify: (notice: Notice) => void;
}

/**
 * Runs the handlers of an event once, in the event's transaction. The deadline is here and nowhere
 * else: when the time is up, the signal aborts that the handlers and the ledger listen to. The time
 * covers the connection, the lock of the event's row, and the handlers. The signal also aborts when
 * `stop` does, and when the attempt fails.
 */
export async function attemptEvent(
  job: EventJob,
  attempt: number,
  limits: { readonly stop: AbortSignal; readonly bodyDedup: boolean },
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  const { source, eventId, generation, unsigned } = job.event;
  const key = { source, eventId, generation };
  const { handlers, handlerTimeoutMs: timeoutMs } = deps;
  const own = createAttemptSignal([limits.stop]);
  const startedMs = performance.now();
  const clock = setTimeout(() => own.abort(timeoutError(timeoutMs)), timeoutMs);
  const { signal } = own;
  const watch = new HandlerWatch(signal);
  // An id that nobody signed can be made up for a body that was. Our own replays are asked for.
  const bodyDedup = limits.bodyDedup && unsigned && generation === 0;
  try {
    const end = await deps.ledger.attempt(
      key,
      attempt,
      (tx, locked) => watch.run(() => handlers.run(job, attempt, { tx, locked, signal })),
      { statementTimeoutMs: timeoutMs, signal, bodyDedup },
    );
    const { outcome, ranMs: handlerMs } = watch;
    if (end === "lost" || outcome === undefined) return { kind: "lost", handlerMs };
    return { kind: "completed", outcome, handlerMs };
  } catch (error) {
    // Postgres limits each statement to the same time, and its answer may be read before the clock fires.
    const isOver = performance.now() - startedMs >= timeoutMs;
    const isTimeout = isOver && sqlStateOf(error) === SQLSTATE.queryCanceled;
    const failed = isTimeout ? stopped(timeoutError(timeoutMs, error)) : watch.failedWith(error);
    own.abort(failed.error);
    reportIfStillRunning(watch, { key, attempt }, deps.notify);
    return { kind: "failed", ...failed, handlerMs: watch.ranMs };
  } finally {
    clearTimeout(clock);
    own.dispose();
  }
}

function timeoutError(timeoutMs: number, cause?: unknown): MillraceError {
  return new MillraceError(
    "handler_timeout",
    `Cannot finish handler: it ran longer than ${timeoutMs} ms`,
    { cause },
  );
}

/** An attempt that ended for another reason than what its handlers or the ledger did. */
function stopped(reason: unknown): FailedAttempt {
  return { error: reason, thrownByHandler: false, abortReason: reason };
}

/** Remembers how the handlers ended: the ledger may have stopped waiting for them before. */
class HandlerWatch {
  outcome: Outcome | undefined;
  private readonly signal: AbortSignal;
  private thrown: FailedAttempt | undefined;
  private startedMs: number | undefined;
  private endedMs: number | undefined;

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  async run(work: () => Promise<Outcome>): Promise<Outcome> {
    this.startedMs = performance.now();
    try {
      this.outcome = await work();
      return this.outcome;
    } catch (unread) {
      const error = readableError(unread);
      const abortReason: unknown = this.signal.aborted ? this.signal.reason : undefined;
      this.thrown = { error, thrownByHandler: true, abortReason };
      throw error;
    } finally {
      this.endedMs = performance.now();
    }
  }

  get isRunning(): boolean {
    return this.startedMs !== undefined && this.endedMs === undefined;
  }

  /** Milliseconds that the handlers ran, or have run so far; undefined when none was started. */
  get ranMs(): number | undefined {
    if (this.startedMs === undefined) return undefined;
    return (this.endedMs ?? performance.now()) - this.startedMs;
  }

  failedWith(error: unknown): FailedAttempt {
    if (this.thrown !== undefined && this.thrown.error === error) return this.thrown;
    // What the ledger threw because the signal aborted, and not what failed at the same time.
    if (this.signal.aborted && error === this.signal.reason) return stopped(error);
    return { error, thrownByHandler: false, abortReason: undefined };
  }
}

const GRACE_MS = 1_000;

// Its transaction is sealed and its slot is free, so it delays nothing; but it may hold much else.
function reportIfStillRunning(
  watch: HandlerWatch,
  attempted: { readonly key: EventKey; readonly attempt: number },
  notify: (notice: Notice) => void,
): void {
  if (!watch.isRunning) return;
  setTimeout(() => {
    if (watch.isRunning) notify({ kind: "handler_ignored_abort", ...attempted });
  }, GRACE_MS).unref();
}

/**
 * The signal of one attempt, which follows longer-lived signals. Unlike AbortSignal.any it leaves
 * nothing behind in them once it is disposed of: the worker's own signal lives as long as the process.
 */
export function createAttemptSignal(followed: readonly AbortSignal[]): AttemptSignal {
  const controller = new AbortController();
  const abort = (reason: unknown) => controller.abort(reason);
  const listeners = followed.map((signal) => {
    const listener = () => abort(signal.reason);
    if (signal.aborted) listener();
    else signal.addEventListener("abort", listener, { once: true });
    return { signal, listener };
  });
  return {
    signal: controller.signal,
    abort,
    dispose: () => {
      for (const { signal, listener } of listeners) signal.removeEventListener("abort", listener);
    },
  };
}

export interface AttemptSignal {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Stops following. */
  dispose(): void;
}

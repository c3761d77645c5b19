import {
  LazySignal,
  MillraceError,
  type EventJob,
  type EventKey,
  type HandlerContext,
  type HandlerTransaction,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import {
  SQLSTATE,
  sqlStateOf,
  type AttemptWork,
  type FirstAttemptEnd,
  type FirstWork,
  type Ledger,
} from "@millrace/ledger";
import { readableError } from "./describe-error.ts";
import type { AloneEnd } from "./first-attempts.ts";
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
  readonly ledger: Pick<Ledger["claims"], "attempt" | "attemptFirst">;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  readonly notify: (notice: Notice) => void;
}

interface AttemptConditions {
  readonly stop: StopSignal;
  readonly bodyDedup: boolean;
  /** The ledger has the event from this job. */
  readonly isNew?: boolean | undefined;
}

/** Runs the handlers of a claimed event once, in a transaction that holds the event's row. */
export async function attemptEvent(
  job: EventJob,
  attempt: number,
  { stop, bodyDedup, isNew }: AttemptConditions,
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  const { source, eventId, generation, unsigned, headers, body } = job.event;
  const key = { source, eventId, generation };
  const { handlers, handlerTimeoutMs: statementTimeoutMs } = deps;
  // An id that nobody signed can be made up for a body that was. Our own replays are asked for.
  const isSuspect = bodyDedup && unsigned && generation === 0;
  // The first body of an event counts. Of an event that was new, it is this job's, as the record wrote it.
  const event = isNew === true && body !== undefined ? { headers, body } : undefined;
  return await withDeadline({ job, attempt, stop }, deps, async (watch, signal) => {
    const work: AttemptWork = (tx, locked) =>
      watch.run(() => handlers.run(job.event, attempt, { locked, context: contextOf(tx, signal) }));
    const limits = { statementTimeoutMs, signal, bodyDedup: isSuspect, event };
    return (await deps.ledger.attempt(key, attempt, work, limits)) === "completed";
  });
}

/**
 * Makes the first attempt of an event that nobody has claimed, in a transaction of its own. `record_first` when
 * the event is for a record to decide.
 */
export async function attemptAlone(
  job: EventJob,
  { stop, bodyDedup }: AttemptConditions,
  deps: AttemptDeps,
): Promise<AloneEnd> {
  const { handlers, handlerTimeoutMs: statementTimeoutMs } = deps;
  let answer: FirstAttemptEnd | undefined;
  let recorded = false;
  let isUnsafe = false;
  const end = await withDeadline({ job, attempt: 1, stop }, deps, async (watch, signal) => {
    const work: FirstWork = (tx, event) => {
      const locked = { headers: event.headers, body: event.body, suspectedReplay: false };
      const input = { locked, context: contextOf(tx, signal) };
      return watch.run(() => handlers.run(event, 1, input));
    };
    answer = await deps.ledger.attemptFirst(job, work, {
      statementTimeoutMs,
      signal,
      bodyDedup,
      onRecorded: () => {
        recorded = true;
      },
      onUnsafe: () => {
        isUnsafe = true;
      },
    });
    return answer === "completed";
  });
  // What is wrong with a database that does not even begin an attempt shows when the event is recorded.
  const isBegun = end.handlerMs !== undefined || answer === "busy";
  return !isBegun || answer === "undone"
    ? { kind: "record_first", ran: isBegun, isUnsafe }
    : { kind: "ended", end, recorded, isUnsafe };
}

/**
 * Makes an attempt within the handlers' time. The deadline is here and nowhere else: when the time is up,
 * the signal aborts that the handlers and the ledger listen to. The time covers the connection, the
 * transaction's beginning, and the handlers. The signal also aborts when `stop` does, and when the attempt
 * fails.
 */
async function withDeadline(
  { job, attempt, stop }: { job: EventJob; attempt: number; stop: StopSignal },
  { handlerTimeoutMs: timeoutMs, notify }: AttemptDeps,
  make: (watch: HandlerWatch, signal: LazySignal) => Promise<boolean>,
): Promise<AttemptEnd> {
  const { source, eventId, generation } = job.event;
  const key = { source, eventId, generation };
  const signal = new AttemptSignal([stop]);
  const startedMs = performance.now();
  const clock = setTimeout(() => signal.abort(timeoutError(timeoutMs)), timeoutMs);
  const watch = new HandlerWatch(signal);
  try {
    const isCompleted = await make(watch, signal);
    const { outcome, ranMs: handlerMs } = watch;
    if (!isCompleted || outcome === undefined) return { kind: "lost", handlerMs };
    return { kind: "completed", outcome, handlerMs };
  } catch (error) {
    // Postgres limits each statement to the same time, and its answer may be read before the clock fires.
    const isOver = performance.now() - startedMs >= timeoutMs;
    const isTimeout = isOver && sqlStateOf(error) === SQLSTATE.queryCanceled;
    const failed = isTimeout ? stopped(timeoutError(timeoutMs, error)) : watch.failedWith(error);
    signal.abort(failed.error);
    reportIfStillRunning(watch, { key, attempt }, notify);
    return { kind: "failed", ...failed, handlerMs: watch.ranMs };
  } finally {
    clearTimeout(clock);
    signal.dispose();
  }
}

/** What handlers get; their signal is made when they ask for it. */
function contextOf(tx: HandlerTransaction, signal: LazySignal): HandlerContext {
  return {
    tx,
    get signal() {
      return signal.signal;
    },
  };
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
export class HandlerWatch {
  outcome: Outcome | undefined;
  private readonly signal: Pick<StopSignal, "aborted" | "reason">;
  private thrown: FailedAttempt | undefined;
  private startedMs: number | undefined;
  private endedMs: number | undefined;

  constructor(signal: Pick<StopSignal, "aborted" | "reason">) {
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

/** The signal of one attempt, which follows longer-lived signals until it is disposed of. */
export class AttemptSignal extends LazySignal {
  private readonly followed: readonly StopSignal[];
  private readonly follow = () => {
    this.abort(this.followed.find(({ aborted }) => aborted)?.reason);
  };

  constructor(followed: readonly StopSignal[]) {
    super();
    this.followed = followed;
    for (const signal of followed) signal.addEventListener("abort", this.follow);
    if (followed.some(({ aborted }) => aborted)) this.follow();
  }

  /** Stops following. */
  dispose(): void {
    for (const signal of this.followed) signal.removeEventListener("abort", this.follow);
  }
}

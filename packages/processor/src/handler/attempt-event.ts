import {
  LazySignal,
  MillraceError,
  type EnvelopedEvent,
  type EventJob,
  type EventKey,
  type Handler,
  type LockedEvent,
  type OnEmitted,
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
import { readableError } from "../errors/describe-error.ts";
import type { InternalSources } from "./emit.ts";
import type { AloneEnd } from "../groups/first-attempts.ts";
import { createHandlerContext } from "./handler-context.ts";
import { AttemptLog, type OpenLog } from "./handler-log.ts";
import type { Notice } from "../notices.ts";
import type { FailedAttempt } from "../job/retry-policy.ts";
import type { Handlers, Plan } from "./run-handlers.ts";

/** How one attempt ended, and how long its handlers ran. */
export type AttemptEnd = { readonly handlerMs: number | undefined } & (
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "lost" }
  | ({ readonly kind: "failed" } & FailedAttempt)
);

/** What an attempt takes of the processor. */
export interface AttemptDeps {
  readonly ledger: Pick<Ledger["claims"], "attempt" | "attemptFirst">;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  readonly openLog: OpenLog;
  readonly notify: (notice: Notice) => void;
  readonly internalSources: InternalSources;
  readonly onEmitted: OnEmitted;
}

interface AttemptConditions {
  readonly stop: StopSignal;
  readonly bodyDedup: boolean;
  /** Of an event whose handlers make calls. */
  readonly called?: Called | undefined;
  /** The ledger has the event from this job. */
  readonly isNew?: boolean | undefined;
}

/** An attempt's event, when its calls are made: what the ledger has of it, and what they returned. */
export interface Called {
  readonly content: Pick<LockedEvent, "headers" | "body">;
  readonly plan: Plan;
  readonly results: ReadonlyMap<Handler, unknown>;
  readonly log: AttemptLog;
}

/** Runs the writes of a claimed event once, in a transaction that holds the event's row. */
export async function attemptEvent(
  job: EventJob,
  attempt: number,
  { stop, bodyDedup, isNew, called }: AttemptConditions,
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  const { source, eventId, generation, headers, body } = job.event;
  const key = { source, eventId, generation };
  const { handlers, handlerTimeoutMs, openLog } = deps;
  // The first body of an event counts. Of an event that was new, it is this job's, as the record wrote it.
  const own = isNew === true && body !== undefined ? { headers, body } : undefined;
  const event = called?.content ?? own;
  const { plan, results } = called ?? {};
  const log = called?.log ?? new AttemptLog(openLog, [job.event], attempt);
  const timed = { job, attempt, stop, timeoutMs: handlerTimeoutMs };
  let outcome: Outcome | undefined;
  const end = await withDeadline(timed, deps, async (watch, signal) => {
    const work: AttemptWork = async (tx, locked, target) => {
      const parent = { ...key, headers: locked.headers };
      const parts = { parent, target, sources: deps.internalSources, log };
      const context = createHandlerContext(tx, signal, parts);
      const input = { locked, context, plan, called: results };
      outcome = await watch.run(() => handlers.run(job.event, attempt, input));
      return outcome;
    };
    const { onEmitted } = deps;
    // Before calls, it is decided in a commit of its own.
    const isSuspect = called === undefined && mayRepeat(job.event, bodyDedup);
    const limits = {
      ...{ statementTimeoutMs: handlerTimeoutMs, signal },
      ...{ bodyDedup: isSuspect, event, onEmitted },
    };
    return await deps.ledger.attempt(key, attempt, work, limits);
  });
  log.end();
  return toAttemptEnd(end, outcome, log);
}

/** An id that nobody signed can be made up for a body that was. Our own replays are asked for. */
export function mayRepeat({ unsigned, generation }: EnvelopedEvent, bodyDedup: boolean): boolean {
  return bodyDedup && unsigned && generation === 0;
}

/**
 * Makes the first attempt of an event that nobody has claimed, in a transaction of its own. `record_first` when
 * the event is for a record to decide.
 */
export async function attemptAlone(
  job: EventJob,
  { stop, bodyDedup, plan }: AttemptConditions & { readonly plan: Plan | undefined },
  deps: AttemptDeps,
): Promise<AloneEnd> {
  const { handlers, handlerTimeoutMs, openLog } = deps;
  let outcome: Outcome | undefined;
  let answer: FirstAttemptEnd | undefined;
  let recorded = false;
  let isUnsafe = false;
  const log = new AttemptLog(openLog, [job.event], 1);
  const timed = { job, attempt: 1, stop, timeoutMs: handlerTimeoutMs };
  const timedEnd = await withDeadline(timed, deps, async (watch, signal) => {
    const work: FirstWork = async (tx, event, target) => {
      const locked = { headers: event.headers, body: event.body, suspectedReplay: false };
      const parts = { parent: event, target, sources: deps.internalSources, log };
      const input = { locked, context: createHandlerContext(tx, signal, parts), plan };
      outcome = await watch.run(() => handlers.run(event, 1, input));
      return outcome;
    };
    answer = await deps.ledger.attemptFirst(job, work, {
      statementTimeoutMs: handlerTimeoutMs,
      signal,
      bodyDedup,
      onEmitted: deps.onEmitted,
      onRecorded: () => {
        recorded = true;
      },
      onUnsafe: () => {
        isUnsafe = true;
      },
    });
    return answer;
  });
  log.end();
  const end = toAttemptEnd(timedEnd, outcome, log);
  // What is wrong with a database that does not even begin an attempt shows when the event is recorded.
  const isBegun = end.handlerMs !== undefined || answer === "busy";
  return !isBegun || answer === "undone"
    ? { kind: "record_first", ran: isBegun, isUnsafe }
    : { kind: "ended", end, recorded, isUnsafe };
}

function toAttemptEnd(
  end: TimedEnd<AttemptAnswer>,
  outcome: Outcome | undefined,
  log: AttemptLog,
): AttemptEnd {
  if (end.kind === "failed") return { ...end, log };
  const { handlerMs } = end;
  return end.value === "completed" && outcome !== undefined
    ? { kind: "completed", outcome, handlerMs }
    : { kind: "lost", handlerMs };
}

type AttemptAnswer = FirstAttemptEnd | "completed" | "lost";

/** How the handlers' part of an attempt ended, and how long it ran. */
export type TimedEnd<Value> = { readonly handlerMs: number | undefined } & (
  { readonly kind: "ended"; readonly value: Value } | ({ readonly kind: "failed" } & FailedAttempt)
);

interface Timed {
  readonly job: EventJob;
  readonly attempt: number;
  readonly stop: StopSignal;
  readonly timeoutMs: number;
}

/**
 * Makes an attempt, or a call of one, within the handlers' time. The deadline is here and nowhere else: when the time is
 * up, the signal aborts that the handlers and the ledger listen to. Of a transaction, the time covers the connection, its
 * beginning, and the handlers. The signal also aborts when `stop` does, and when the attempt fails.
 */
export async function withDeadline<Value>(
  { job, attempt, stop, timeoutMs }: Timed,
  { notify }: Pick<AttemptDeps, "notify">,
  make: (watch: HandlerWatch, signal: LazySignal) => Promise<Value>,
): Promise<TimedEnd<Value>> {
  const { source, eventId, generation } = job.event;
  const key = { source, eventId, generation };
  const signal = new AttemptSignal([stop]);
  const startedMs = performance.now();
  const clock = setTimeout(() => signal.abort(timeoutError(timeoutMs)), timeoutMs);
  const watch = new HandlerWatch(signal);
  try {
    const value = await make(watch, signal);
    return { kind: "ended", value, handlerMs: watch.ranMs };
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

function timeoutError(timeoutMs: number, cause?: unknown): MillraceError {
  return new MillraceError(
    "handler_timeout",
    `Cannot finish handler: it ran longer than ${timeoutMs} ms`,
    { cause },
  );
}

/** An attempt that ended for another reason than what its handlers or the ledger did. */
export function stopped(reason: unknown): FailedAttempt {
  return { error: reason, thrownByHandler: false, abortReason: reason };
}

/** Remembers what the handlers threw: the ledger may have stopped waiting for them before. */
export class HandlerWatch {
  private readonly signal: Pick<StopSignal, "aborted" | "reason">;
  private thrown: FailedAttempt | undefined;
  private startedMs: number | undefined;
  private endedMs: number | undefined;

  constructor(signal: Pick<StopSignal, "aborted" | "reason">) {
    this.signal = signal;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    this.startedMs = performance.now();
    try {
      return await work();
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

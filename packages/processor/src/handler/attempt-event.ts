import {
  keyOf,
  LazySignal,
  MillraceError,
  type EnvelopedEvent,
  type EventJob,
  type EventKey,
  type Handler,
  type HandlerTransaction,
  type LockedEvent,
  type OnEmitted,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import {
  SQLSTATE,
  sqlStateOf,
  type EmitTarget,
  type FirstAttemptEnd,
  type Ledger,
} from "@millrace/ledger";
import { readableError } from "../errors/describe-error.ts";
import type { InternalSources } from "./emit.ts";
import { AttemptLog, type OpenLog } from "./handler-log.ts";
import type { Notice } from "../notices.ts";
import { failedBy, type FailedAttempt } from "../job/retry-policy.ts";
import { createHandlerContext, type Handlers, type Plan } from "./run-handlers.ts";

export type AttemptEnd = {
  /** Milliseconds that the handlers ran; undefined when none was started. */
  readonly handlerMs: number | undefined;
  /** True when the ledger recorded a first attempt while it ran. */
  readonly recorded?: boolean;
  /** True when a statement of a first attempt had an effect that no savepoint undoes. */
  readonly isUnsafe?: boolean;
} & (
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "lost" }
  | ({ readonly kind: "failed" } & FailedAttempt)
);

/** An event that is recorded before its next attempt. `ran`: its handlers ran and were undone. */
export interface RecordFirst {
  readonly kind: "record_first";
  readonly ran: boolean;
  /** True when other events, of its group or another, are why it was undone. */
  readonly undoneByOthers?: boolean;
}

export interface AttemptDeps {
  readonly ledger: Pick<Ledger["claims"], "attempt" | "attemptFirst">;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  readonly openLog: OpenLog;
  readonly notify: (notice: Notice) => void;
  readonly internalSources: InternalSources;
  readonly onEmitted: OnEmitted;
}

export interface AttemptConditions {
  readonly stop: StopSignal;
}

export interface Called {
  readonly content: Pick<LockedEvent, "headers" | "body">;
  readonly plan: Plan;
  readonly results: ReadonlyMap<Handler, unknown>;
  readonly log: AttemptLog;
}

/** @param conditions.isNew - true when this job's record brought the event into the ledger. */
export async function attemptEvent(
  job: EventJob,
  attempt: number,
  conditions: AttemptConditions & {
    readonly called?: Called | undefined;
    readonly isNew?: boolean | undefined;
  },
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  const { stop, isNew, called } = conditions;
  const { headers, body } = job.event;
  // The first body of an event counts: of a new event, the one that this job brought.
  const own = isNew === true && body !== undefined ? { headers, body } : undefined;
  const log = called?.log ?? new AttemptLog(deps.openLog, [job.event], attempt);
  const run = { job, attempt, stop, log, plan: called?.plan, called: called?.results };
  return await runAttempt(run, deps, async (runHandlers, signal) => {
    const answer = await deps.ledger.attempt(
      keyOf(job.event),
      attempt,
      (tx, locked, target) => runHandlers(tx, job.event, locked, target),
      {
        statementTimeoutMs: deps.handlerTimeoutMs,
        signal,
        event: called?.content ?? own,
        onEmitted: deps.onEmitted,
      },
    );
    return answer === "completed";
  });
}

/** Makes the first attempt of an event that nobody has claimed, in a transaction of its own. */
export async function attemptFirst(
  job: EventJob,
  { stop, plan }: AttemptConditions & { readonly plan: Plan | undefined },
  deps: AttemptDeps,
): Promise<AttemptEnd | RecordFirst> {
  let answer: FirstAttemptEnd | undefined;
  let recorded = false;
  let isUnsafe = false;
  const log = new AttemptLog(deps.openLog, [job.event], 1);
  const run = { job, attempt: 1, stop, log, plan };
  const end = await runAttempt(run, deps, async (runHandlers, signal) => {
    answer = await deps.ledger.attemptFirst(
      job,
      (tx, event, target) => {
        const { headers, body } = event;
        return runHandlers(tx, event, { headers, body }, target);
      },
      {
        statementTimeoutMs: deps.handlerTimeoutMs,
        signal,
        onEmitted: deps.onEmitted,
        onRecorded: () => {
          recorded = true;
        },
        onUnsafe: () => {
          isUnsafe = true;
        },
      },
    );
    return answer === "completed";
  });
  // A database that does not even begin an attempt shows its fault when the event is recorded.
  const isBegun = end.handlerMs !== undefined || answer === "busy";
  return !isBegun || answer === "undone"
    ? { kind: "record_first", ran: isBegun }
    : { ...end, recorded, isUnsafe };
}

interface AttemptRun extends Omit<TimeLimit, "timeoutMs"> {
  readonly log: AttemptLog;
  readonly plan?: Plan | undefined;
  readonly called?: ReadonlyMap<Handler, unknown> | undefined;
}

type RunHandlers = (
  tx: HandlerTransaction,
  event: EnvelopedEvent,
  locked: LockedEvent,
  target: EmitTarget,
) => Promise<Outcome>;

/** Runs handlers in the transaction of `transact`, which returns true when the event completed. */
async function runAttempt(
  { job, attempt, stop, log, plan, called }: AttemptRun,
  deps: AttemptDeps,
  transact: (runHandlers: RunHandlers, signal: LazySignal) => Promise<boolean>,
): Promise<AttemptEnd> {
  const { handlers, handlerTimeoutMs: timeoutMs, internalSources: sources } = deps;
  let outcome: Outcome | undefined;
  const end = await runInTime({ job, attempt, stop, timeoutMs }, deps, (watch, signal) => {
    const runHandlers: RunHandlers = async (tx, event, locked, target) => {
      const parent = { ...keyOf(event), headers: locked.headers };
      const context = createHandlerContext(tx, signal, { parent, target, sources, log });
      const input = { locked, context, plan, called };
      outcome = await watch.run(() => handlers.run(event, attempt, input));
      return outcome;
    };
    return transact(runHandlers, signal);
  });
  log.end();
  if (end.kind === "failed") return { ...end, log };
  const { handlerMs } = end;
  return end.value && outcome !== undefined
    ? { kind: "completed", outcome, handlerMs }
    : { kind: "lost", handlerMs };
}

/** A result within the handlers' time, or a failure. */
export type TimedResult<Value> = { readonly handlerMs: number | undefined } & (
  { readonly kind: "ended"; readonly value: Value } | ({ readonly kind: "failed" } & FailedAttempt)
);

interface TimeLimit {
  readonly job: EventJob;
  readonly attempt: number;
  readonly stop: StopSignal;
  readonly timeoutMs: number;
}

/**
 * Runs an attempt, or a call of one, within the handlers' time; no other code has this deadline.
 * The signal for the handlers and the ledger aborts when the time is up, when `stop` does, and
 * when the attempt fails. The time includes a transaction's connection and BEGIN.
 */
export async function runInTime<Value>(
  { job, attempt, stop, timeoutMs }: TimeLimit,
  { notify }: Pick<AttemptDeps, "notify">,
  run: (watch: HandlerWatch, signal: LazySignal) => Promise<Value>,
): Promise<TimedResult<Value>> {
  const signal = new AttemptSignal([stop]);
  const startedMs = performance.now();
  const clock = setTimeout(() => signal.abort(timeoutError(timeoutMs)), timeoutMs);
  const watch = new HandlerWatch(signal);
  try {
    const value = await run(watch, signal);
    return { kind: "ended", value, handlerMs: watch.ranMs };
  } catch (error) {
    // Postgres has the same limit for each statement, and can answer before the clock fires.
    const isOver = performance.now() - startedMs >= timeoutMs;
    const isTimeout = isOver && sqlStateOf(error) === SQLSTATE.queryCanceled;
    const reason = isTimeout ? timeoutError(timeoutMs, error) : undefined;
    const failed = isTimeout ? failedBy(reason, reason) : watch.failedBy(error);
    signal.abort(failed.error);
    reportIfStillRunning(watch, { key: keyOf(job.event), attempt }, notify);
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

/** Keeps the error of the handlers: the ledger can have stopped waiting for them before. */
export class HandlerWatch {
  readonly #signal: Pick<StopSignal, "aborted" | "reason">;
  #thrown: FailedAttempt | undefined;
  #startedMs: number | undefined;
  #endedMs: number | undefined;

  constructor(signal: Pick<StopSignal, "aborted" | "reason">) {
    this.#signal = signal;
  }

  async run<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#startedMs = performance.now();
    try {
      return await work();
    } catch (unread) {
      const error = readableError(unread);
      const abortReason: unknown = this.#signal.aborted ? this.#signal.reason : undefined;
      this.#thrown = { error, thrownByHandler: true, abortReason };
      throw error;
    } finally {
      this.#endedMs = performance.now();
    }
  }

  get isRunning(): boolean {
    return this.#startedMs !== undefined && this.#endedMs === undefined;
  }

  get ranMs(): number | undefined {
    if (this.#startedMs === undefined) return undefined;
    return (this.#endedMs ?? performance.now()) - this.#startedMs;
  }

  failedBy(error: unknown): FailedAttempt {
    if (this.#thrown !== undefined && this.#thrown.error === error) return this.#thrown;
    // The ledger's error because the signal aborted, and not another one of the same moment.
    const isStopped = this.#signal.aborted && error === this.#signal.reason;
    return failedBy(error, isStopped ? error : undefined);
  }
}

const GRACE_MS = 1_000;

// Its transaction is sealed and its slot is free, so it delays nothing; but it can hold memory.
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
  readonly #followed: readonly StopSignal[];
  readonly #follow = () => {
    this.abort(this.#followed.find(({ aborted }) => aborted)?.reason);
  };

  constructor(followed: readonly StopSignal[]) {
    super();
    this.#followed = followed;
    for (const signal of followed) signal.addEventListener("abort", this.#follow);
    if (followed.some(({ aborted }) => aborted)) this.#follow();
  }

  dispose(): void {
    for (const signal of this.#followed) signal.removeEventListener("abort", this.#follow);
  }
}

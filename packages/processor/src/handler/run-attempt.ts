import {
  keyOf,
  LazySignal,
  MillraceError,
  type EnvelopedEvent,
  type EventJob,
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
  type AttemptEnd as LedgerEnd,
  type AttemptLimits,
  type EmitTarget,
  type Ledger,
} from "@millrace/ledger";
import { readableError } from "../errors/describe-error.ts";
import type { InternalSources } from "./emit.ts";
import { AttemptLog, type OpenLog } from "./handler-log.ts";
import type { Notice } from "../notices.ts";
import { failedBy, type FailedAttempt } from "../job/retry-policy.ts";
import { createHandlerContext, type Handlers, type Plan } from "./run-handlers.ts";

export type AttemptEnd = LedgerEnd<FailedAttempt> & {
  readonly recorded?: boolean;
  /** True when a statement of a first attempt had an effect that no savepoint undoes. */
  readonly isUnsafe?: boolean;
};

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
  readonly plan?: Plan | undefined;
  readonly called?: Called | undefined;
  /** True when this job's record brought the event into the ledger. */
  readonly isNew?: boolean | undefined;
}

export interface Called {
  readonly content: Pick<LockedEvent, "headers" | "body">;
  readonly plan: Plan;
  readonly results: ReadonlyMap<Handler, unknown>;
  readonly log: AttemptLog;
}

export async function attemptRecorded(
  job: EventJob,
  attempt: number,
  conditions: AttemptConditions,
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  const { isNew, called } = conditions;
  const { headers, body } = job.event;
  // The first body of an event counts: of a new event, the one that this job brought.
  const own = isNew === true && body !== undefined ? { headers, body } : undefined;
  const event = called?.content ?? own;
  return await runAttempt({ job, attempt, ...conditions }, deps, (run, limits) =>
    deps.ledger.attempt(
      keyOf(job.event),
      attempt,
      (tx, locked, target) => run(tx, job.event, locked, target),
      { ...limits, event },
    ),
  );
}

/** Makes the first attempt of an event that nobody has claimed, in a transaction of its own. */
export async function attemptFirst(
  job: EventJob,
  conditions: AttemptConditions,
  deps: AttemptDeps,
): Promise<AttemptEnd> {
  let recorded = false;
  let isUnsafe = false;
  const end = await runAttempt({ job, attempt: 1, ...conditions }, deps, (run, limits) =>
    deps.ledger.attemptFirst(job, (tx, event, target) => run(tx, event, event, target), {
      ...limits,
      onRecorded: () => {
        recorded = true;
      },
      onUnsafe: () => {
        isUnsafe = true;
      },
    }),
  );
  // A database that does not even begin an attempt shows its fault when the event is recorded.
  const isBegun = end.kind !== "failed" || end.ranMs !== undefined;
  return isBegun ? { ...end, recorded, isUnsafe } : { kind: "record_first" };
}

type RunHandlers = (
  tx: HandlerTransaction,
  event: EnvelopedEvent,
  locked: LockedEvent,
  target: EmitTarget,
) => Promise<Outcome>;

async function runAttempt(
  { job, attempt, stop, plan, called }: AttemptConditions & Pick<TimeLimit, "job" | "attempt">,
  deps: AttemptDeps,
  transact: (run: RunHandlers, limits: AttemptLimits) => Promise<LedgerEnd<never>>,
): Promise<AttemptEnd> {
  const { handlers, handlerTimeoutMs: timeoutMs, internalSources: sources, onEmitted } = deps;
  const log = called?.log ?? new AttemptLog(deps.openLog, [job.event], attempt);
  const end = await runInTime({ job, attempt, stop, timeoutMs }, deps, (watch, signal) => {
    const run: RunHandlers = async (tx, event, locked, target) => {
      const { headers } = locked;
      const { trace } = job;
      const parent = { ...keyOf(event), headers, trace };
      const context = createHandlerContext(tx, signal, { parent, target, sources, log });
      const chosen = { plan: called?.plan ?? plan, called: called?.results };
      const handle = () => handlers.run(event, attempt, { locked, context, ...chosen });
      return await watch.run(trace ? () => trace.part("write", handle, { headers }) : handle);
    };
    return transact(run, { statementTimeoutMs: timeoutMs, signal, onEmitted });
  });
  log.end();
  if (end.kind === "failed") return { ...end, log };
  return { ...end.value, ranMs: end.ranMs };
}

/** Milliseconds from an abort until a handler that goes on is reported. */
const GRACE_MS = 1_000;

export type TimedResult<Value> = { readonly ranMs: number | undefined } & (
  { readonly kind: "ended"; readonly value: Value } | ({ readonly kind: "failed" } & FailedAttempt)
);

export interface TimeLimit {
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
  const clock = setTimeout(() => signal.abort(timeoutError(job, timeoutMs)), timeoutMs);
  const watch = new HandlerWatch(signal);
  try {
    const value = await run(watch, signal);
    return { kind: "ended", value, ranMs: watch.ranMs };
  } catch (error) {
    // Postgres has the same limit for each statement, and can answer before the clock fires.
    const isOver = performance.now() - startedMs >= timeoutMs;
    const isTimeout = isOver && sqlStateOf(error) === SQLSTATE.queryCanceled;
    const reason = isTimeout ? timeoutError(job, timeoutMs, error) : undefined;
    const failed = isTimeout ? failedBy(reason, reason) : watch.failedBy(error);
    signal.abort(failed.error);
    // Its transaction is sealed and its slot is free, so it delays nothing; but it can hold memory.
    const report = () => {
      if (!watch.isRunning) return;
      notify({ kind: "handler_ignored_abort", key: keyOf(job.event), attempt });
    };
    if (watch.isRunning) setTimeout(report, GRACE_MS).unref();
    return { kind: "failed", ...failed, ranMs: watch.ranMs };
  } finally {
    clearTimeout(clock);
    signal.dispose();
  }
}

function timeoutError({ event }: EventJob, timeoutMs: number, cause?: unknown): MillraceError {
  return new MillraceError(
    "handler_timeout",
    `Cannot finish handler of ${event.source} ${event.type}: it ran longer than ${timeoutMs} ms`,
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

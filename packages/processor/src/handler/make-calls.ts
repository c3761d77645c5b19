import {
  failpoint,
  keyOf,
  unlessAborted,
  type CallContext,
  type EventJob,
  type EventKey,
  type Handler,
  type LazySignal,
  type Once,
  type StopSignal,
} from "@millrace/core";
import type { BegunEvent, Ledger } from "@millrace/ledger";
import {
  attemptRecorded,
  runInTime,
  type AttemptConditions,
  type AttemptDeps,
  type AttemptEnd,
  type Called,
  type TimedResult,
} from "./run-attempt.ts";
import type { DatabaseRetry } from "../job/database-retry.ts";
import { AttemptLog } from "./handler-log.ts";
import { failedBy, type ClaimedAttempt } from "../job/retry-policy.ts";
import type { PlannedHandler } from "./run-handlers.ts";
import type { Release, Slots } from "../job/slots.ts";
import { Steps } from "./steps.ts";

interface Calls {
  readonly kind: "called";
  readonly ranMs: number | undefined;
  readonly called: Called;
}

type CallsOrEnd = Calls | Exclude<AttemptEnd, { readonly kind: "completed" }>;

interface CallsDeps extends AttemptDeps {
  readonly ledger: Pick<
    Ledger["claims"],
    "attempt" | "attemptFirst" | "readBegun" | "recordStep" | "completeCalled"
  >;
  readonly database: DatabaseRetry;
  readonly slots: Slots;
}

/**
 * First the calls, then the writes. In between, the call slot becomes a transaction's. Never
 * rejects.
 */
export async function callThenWrite(
  job: EventJob,
  claim: ClaimedAttempt,
  { release, ...conditions }: AttemptConditions & { readonly release: Release },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const calls = await makeCalls(job, claim, conditions, deps);
  if (calls.kind !== "called") return calls;
  release();
  // A worker that drains does not hand it back: it has begun.
  const { stop } = conditions;
  const releaseSlot = await deps.slots.acquire(job.event.source, stop);
  if (releaseSlot === undefined) {
    return { kind: "failed", ...failedBy(stop.reason, stop.reason), ranMs: calls.ranMs };
  }
  try {
    return await writeCalled(job, claim.attempt, { stop, calls }, deps);
  } finally {
    releaseSlot();
  }
}

async function makeCalls(
  job: EventJob,
  claim: ClaimedAttempt,
  conditions: AttemptConditions,
  deps: CallsDeps,
): Promise<CallsOrEnd> {
  try {
    return await new CallsRun(job, claim, conditions, deps).make();
  } catch (error) {
    return { kind: "failed", ...failedBy(error) };
  }
}

/** Completes an event after its calls; without writes, in one statement. */
async function writeCalled(
  job: EventJob,
  attempt: number,
  { stop, calls }: { readonly stop: StopSignal; readonly calls: Calls },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const { ranMs, called } = calls;
  if (called.plan.some(hasWrite)) {
    const end = await attemptRecorded(job, attempt, { stop, called }, deps);
    return { ...end, ranMs: (ranMs ?? 0) + (end.ranMs ?? 0) };
  }
  const outcome = called.plan.length === 0 ? "ignored" : "handled";
  try {
    const answer = await deps.ledger.completeCalled(keyOf(job.event), attempt, outcome);
    return answer === "lost" ? { kind: "busy", ranMs } : { kind: "completed", outcome, ranMs };
  } catch (error) {
    return { kind: "failed", ...failedBy(error), ranMs };
  }
}

const hasWrite = ({ handler }: PlannedHandler) => handler.write !== undefined;

const NO_STEPS: BegunEvent["steps"] = new Map();

class CallsRun {
  readonly #job: EventJob;
  readonly #claim: ClaimedAttempt;
  readonly #conditions: AttemptConditions;
  readonly #deps: CallsDeps;
  readonly #key: EventKey;
  readonly #log: AttemptLog;
  #ranMs: number | undefined;

  constructor(
    job: EventJob,
    claim: ClaimedAttempt,
    conditions: AttemptConditions,
    deps: CallsDeps,
  ) {
    this.#job = job;
    this.#claim = claim;
    this.#conditions = conditions;
    this.#deps = deps;
    this.#key = keyOf(job.event);
    this.#log = new AttemptLog(deps.openLog, [this.#key], claim.attempt);
  }

  async make(): Promise<CallsOrEnd> {
    const event = await this.#read();
    if (event === undefined) return { kind: "busy" };
    try {
      const end = await this.#callAll(event);
      return end.kind === "failed" ? { ...end, log: this.#log } : end;
    } finally {
      this.#log.end();
    }
  }

  /** The event as the ledger has it: of a new event, as this job's record wrote it. */
  async #read(): Promise<BegunEvent | undefined> {
    const { headers, body } = this.#job.event;
    const { attempt, isNew } = this.#claim;
    if (isNew === true && body !== undefined) {
      return { content: { headers, body }, steps: NO_STEPS };
    }
    return await this.#deps.ledger.readBegun(this.#key, attempt);
  }

  async #callAll({ content, steps: recorded }: BegunEvent): Promise<CallsOrEnd> {
    const job = this.#job;
    const deps = this.#deps;
    const { attempt } = this.#claim;
    const planned = await this.#runInTime(undefined, () =>
      deps.handlers.plan(job.event, attempt, content),
    );
    if (planned.kind === "failed") return planned;
    const plan = planned.value;
    const { idempotencyKey } = deps.handlers.eventOf(job.event, attempt, content);
    const steps = new Steps({
      ...{ recorded, idempotencyKey, record: (step) => this.#record(step) },
      isStopped: () => job.signal.aborted,
    });
    const results = new Map<Handler, unknown>();
    for (const { handler, payload } of plan) {
      const { call, timeoutMs } = handler;
      if (call === undefined) continue;
      const event = deps.handlers.eventOf(job.event, attempt, content, payload);
      failpoint("worker.before_call");
      if (job.signal.aborted) return { kind: "busy", ranMs: this.#ranMs };
      const end = await this.#runInTime(timeoutMs, async (signal) => {
        const { once, close, end: endSteps } = steps.ofCall(signal);
        let result: unknown;
        try {
          result = await call(event, callContext(once, signal, this.#log));
        } finally {
          close();
        }
        await endSteps();
        return result;
      });
      // A later attempt has the event, even if the call caught the error.
      if (steps.isLost) return { kind: "busy", ranMs: this.#ranMs };
      if (end.kind === "failed") return end;
      results.set(handler, end.value);
    }
    failpoint("worker.called");
    return {
      kind: "called",
      ranMs: this.#ranMs,
      called: { content, plan, results, log: this.#log },
    };
  }

  /** Runs a plan or a call within its time. The `ranMs` of each result is the sum so far. */
  async #runInTime<Value>(
    timeoutMs: number | undefined,
    run: (signal: LazySignal) => Promise<Value>,
  ): Promise<TimedResult<Value>> {
    const deps = this.#deps;
    const limit = {
      ...{ job: this.#job, attempt: this.#claim.attempt, stop: this.#conditions.stop },
      timeoutMs: timeoutMs ?? deps.handlerTimeoutMs,
    };
    const end = await runInTime(limit, deps, (watch, signal) =>
      unlessAborted(
        signal,
        watch.run(() => run(signal)),
      ),
    );
    this.#ranMs = (this.#ranMs ?? 0) + (end.ranMs ?? 0);
    return { ...end, ranMs: this.#ranMs };
  }

  async #record(step: Parameters<CallsDeps["ledger"]["recordStep"]>[2]) {
    const { ledger, database } = this.#deps;
    const record = () => ledger.recordStep(this.#key, this.#claim.attempt, step);
    return await database.retry(record, this.#conditions.stop);
  }
}

function callContext(once: Once, signal: LazySignal, log: AttemptLog): CallContext {
  return {
    once,
    get signal() {
      return signal.signal;
    },
    get log() {
      return log.lines;
    },
  };
}

import {
  failpoint,
  unlessAborted,
  wait,
  type CallContext,
  type EventJob,
  type EventKey,
  type Handler,
  type LazySignal,
  type Once,
  type Outcome,
  type StopSignal,
} from "@millrace/core";
import type { BegunEvent, Ledger } from "@millrace/ledger";
import {
  attemptEvent,
  mayRepeat,
  stopped,
  withDeadline,
  type AttemptDeps,
  type AttemptEnd,
  type Called,
  type TimedEnd,
} from "./attempt-event.ts";
import type { DatabaseRetry } from "../job/database-retry.ts";
import { AttemptLog } from "./handler-log.ts";
import type { ClaimedAttempt } from "../job/retry-policy.ts";
import type { Plan, PlannedHandler } from "./run-handlers.ts";
import type { Release, Slots } from "../job/slots.ts";
import { Steps } from "./steps.ts";

/** The calls of an attempt whose writes may begin. */
type MadeCalls = { readonly handlerMs: number | undefined } & (
  | { readonly kind: "called"; readonly called: Called }
  /** None was made: the event's signed message is another event's. */
  | { readonly kind: "suspected_replay" }
);

/** The calls, or how the attempt ended before them or with them. */
type CallsEnd = MadeCalls | Exclude<AttemptEnd, { readonly kind: "completed" }>;

interface CallsDeps extends AttemptDeps {
  readonly ledger: Pick<
    Ledger["claims"],
    "attempt" | "attemptFirst" | "decideOriginal" | "readBegun" | "recordStep" | "completeCalled"
  >;
  readonly database: DatabaseRetry;
  readonly slots: Slots;
}

interface Conditions {
  readonly stop: StopSignal;
  readonly bodyDedup: boolean;
}

/**
 * Attempts a claimed event whose handlers make calls: first these, then what the handlers write. Its place is given back
 * in between, and a slot is taken for the transaction. Never rejects.
 */
export async function callThenWrite(
  job: EventJob,
  claim: ClaimedAttempt,
  { place, ...conditions }: Conditions & { readonly place: Release },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const made = await makeCalls(job, claim, conditions, deps);
  if (made.kind !== "called" && made.kind !== "suspected_replay") return made;
  place();
  // It has begun: a worker that stops does not hand it back as what only waits.
  const { stop } = conditions;
  const slot = await deps.slots.acquire(job.event.source, stop);
  if (slot === undefined) {
    return { kind: "failed", ...stopped(stop.reason), handlerMs: made.handlerMs };
  }
  try {
    return await writeCalled(job, claim.attempt, { stop, made }, deps);
  } finally {
    slot();
  }
}

/**
 * Makes the calls of a claimed event's handlers, one after the other, before its transaction. Nothing of Postgres is held
 * meanwhile: whether the event is a replay, its body, and each step that ends are a commit of their own. Never rejects.
 */
async function makeCalls(
  job: EventJob,
  claim: ClaimedAttempt,
  conditions: Conditions,
  deps: CallsDeps,
): Promise<CallsEnd> {
  try {
    return await new CallsRun(job, claim, conditions, deps).make();
  } catch (error) {
    return failedBy(error, undefined);
  }
}

/** Runs the writes of an event whose calls are made, and completes it. Without writes, that takes one statement. */
async function writeCalled(
  job: EventJob,
  attempt: number,
  { stop, made }: { readonly stop: StopSignal; readonly made: MadeCalls },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const { handlerMs } = made;
  if (made.kind === "called" && made.called.plan.some(hasWrite)) {
    const conditions = { stop, bodyDedup: false, called: made.called };
    const end = await attemptEvent(job, attempt, conditions, deps);
    return { ...end, handlerMs: (handlerMs ?? 0) + (end.handlerMs ?? 0) };
  }
  const outcome = made.kind === "called" ? outcomeOf(made.called.plan) : made.kind;
  const { source, eventId, generation } = job.event;
  try {
    const key = { source, eventId, generation };
    const answer = await deps.ledger.completeCalled(key, attempt, outcome);
    return answer === "lost"
      ? { kind: "lost", handlerMs }
      : { kind: "completed", outcome, handlerMs };
  } catch (error) {
    return failedBy(error, handlerMs);
  }
}

const hasWrite = ({ handler }: PlannedHandler) => handler.write !== undefined;
const outcomeOf = (plan: Plan): Outcome => (plan.length === 0 ? "ignored" : "handled");

/** The ledger's error, and no handler's. */
function failedBy(error: unknown, handlerMs: number | undefined): CallsEnd & { kind: "failed" } {
  return { kind: "failed", error, thrownByHandler: false, abortReason: undefined, handlerMs };
}

/** Milliseconds between looks at whether an event is a replay, while another with its message is being handled. */
const DECIDE_AGAIN_MS = [20, 80, 320];
const NO_STEPS: BegunEvent["steps"] = new Map();

class CallsRun {
  private readonly job: EventJob;
  private readonly claim: ClaimedAttempt;
  private readonly conditions: Conditions;
  private readonly deps: CallsDeps;
  private readonly key: EventKey;
  private readonly log: AttemptLog;
  private handlerMs: number | undefined;

  constructor(job: EventJob, claim: ClaimedAttempt, conditions: Conditions, deps: CallsDeps) {
    const { source, eventId, generation } = job.event;
    this.job = job;
    this.claim = claim;
    this.conditions = conditions;
    this.deps = deps;
    this.key = { source, eventId, generation };
    this.log = new AttemptLog(deps.openLog, [this.key], claim.attempt);
  }

  async make(): Promise<CallsEnd> {
    if (mayRepeat(this.job.event, this.conditions.bodyDedup)) {
      const answer = await this.decideOriginal();
      if (answer === "replay") return { kind: "suspected_replay", handlerMs: undefined };
      if (answer !== "original") return { kind: "lost", handlerMs: undefined };
    }
    const begun = await this.read();
    if (begun === undefined) return { kind: "lost", handlerMs: undefined };
    try {
      const end = await this.callAll(begun);
      return end.kind === "failed" ? { ...end, log: this.log } : end;
    } finally {
      this.log.end();
    }
  }

  private async decideOriginal(): ReturnType<CallsDeps["ledger"]["decideOriginal"]> {
    const decide = () => this.deps.ledger.decideOriginal(this.key, this.claim.attempt);
    const { stop } = this.conditions;
    let answer = await decide();
    for (const waitMs of DECIDE_AGAIN_MS) {
      if (answer !== "undecided" || stop.aborted) break;
      await wait(waitMs, stop);
      answer = await decide();
    }
    return answer;
  }

  /** The event as the ledger has it. Of an event that was new, that is this job's, as the record wrote it. */
  private async read(): Promise<BegunEvent | undefined> {
    const { headers, body } = this.job.event;
    const { attempt, isNew } = this.claim;
    if (isNew === true && body !== undefined) {
      return { content: { headers, body }, steps: NO_STEPS };
    }
    return await this.deps.ledger.readBegun(this.key, attempt);
  }

  private async callAll({ content, steps: recorded }: BegunEvent): Promise<CallsEnd> {
    const { job, deps } = this;
    const { attempt } = this.claim;
    const planned = await this.timed(undefined, () =>
      deps.handlers.plan(job.event, attempt, content),
    );
    if (planned.kind === "failed") return planned;
    const plan = planned.value;
    const { idempotencyKey } = deps.handlers.eventOf(job.event, attempt, content);
    const steps = new Steps({ recorded, idempotencyKey, record: (step) => this.record(step) });
    const results = new Map<Handler, unknown>();
    for (const { handler, payload } of plan) {
      const { call, timeoutMs } = handler;
      if (call === undefined) continue;
      const event = deps.handlers.eventOf(job.event, attempt, content, payload);
      failpoint("worker.before_call");
      const end = await this.timed(timeoutMs, async (signal) => {
        const { once, end: endSteps } = steps.ofCall(signal);
        try {
          return await call(event, callContext(once, signal, this.log));
        } finally {
          endSteps();
        }
      });
      // Whatever it made of the error: a later attempt has the event.
      if (steps.isLost) return { kind: "lost", handlerMs: this.handlerMs };
      if (end.kind === "failed") return end;
      results.set(handler, end.value);
    }
    failpoint("worker.called");
    return {
      kind: "called",
      handlerMs: this.handlerMs,
      called: { content, plan, results, log: this.log },
    };
  }

  /** Runs what a handler may take its time for. The time that all of them took is that of the last end. */
  private async timed<Value>(
    timeoutMs: number | undefined,
    run: (signal: LazySignal) => Promise<Value>,
  ): Promise<TimedEnd<Value>> {
    const { job, claim, conditions, deps } = this;
    const timed = {
      ...{ job, attempt: claim.attempt, stop: conditions.stop },
      timeoutMs: timeoutMs ?? deps.handlerTimeoutMs,
    };
    const end = await withDeadline(timed, deps, (watch, signal) =>
      unlessAborted(
        signal,
        watch.run(() => run(signal)),
      ),
    );
    this.handlerMs = (this.handlerMs ?? 0) + (end.handlerMs ?? 0);
    return { ...end, handlerMs: this.handlerMs };
  }

  private async record(step: Parameters<CallsDeps["ledger"]["recordStep"]>[2]) {
    const { ledger, database } = this.deps;
    const record = () => ledger.recordStep(this.key, this.claim.attempt, step);
    return await database.retry(record, this.conditions.stop);
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

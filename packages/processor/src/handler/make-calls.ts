import {
  failpoint,
  keyOf,
  unlessAborted,
  type CallContext,
  type EventJob,
  type Handler,
  type LazySignal,
  type Once,
  type StopSignal,
} from "@millrace/core";
import type { BegunEvent, Ledger } from "@millrace/ledger";
import {
  attemptRecorded,
  runInTime,
  type AttemptDeps,
  type AttemptEnd,
  type Called,
  type TimedResult,
  type TimeLimit,
} from "./run-attempt.ts";
import type { DatabaseRetry } from "../job/database-retry.ts";
import { AttemptLog } from "./handler-log.ts";
import { failedBy, type ClaimedAttempt } from "../job/retry-policy.ts";
import { withOtherPart } from "./other-part.ts";
import { refuseReturned } from "./run-handlers.ts";
import type { Release, Slots } from "../job/slots.ts";
import { Steps } from "./steps.ts";

interface Calls {
  readonly kind: "called";
  readonly ranMs: number | undefined;
  readonly called: Called;
}

type CallsOrEnd = Calls | Exclude<AttemptEnd, { readonly kind: "completed" }>;

interface CallsDeps extends AttemptDeps {
  readonly ledger: Ledger["claims"];
  readonly database: DatabaseRetry;
  readonly slots: Slots;
}

/** Between calls and writes, the call slot becomes a transaction's. Never rejects. */
export async function callThenWrite(
  job: EventJob,
  claim: ClaimedAttempt,
  { stop, release }: { readonly stop: StopSignal; readonly release: Release },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const calls = await makeCalls(job, claim, stop, deps);
  if (calls.kind !== "called") return calls;
  release();
  // A worker that drains does not hand it back: it has begun.
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
  stop: StopSignal,
  deps: CallsDeps,
): Promise<CallsOrEnd> {
  const { attempt } = claim;
  const log = new AttemptLog(deps.openLog, [keyOf(job.event)], attempt);
  try {
    const { headers, body } = job.event;
    // The event as the ledger has it: of a new event, as this job's record wrote it.
    const begun =
      claim.isNew !== true || body === undefined
        ? await deps.ledger.readBegun(keyOf(job.event), attempt)
        : { content: { headers, body }, steps: NO_STEPS };
    if (begun === undefined) return { kind: "busy" };
    const end = await callAll({ job, attempt, stop, log }, begun, deps);
    return end.kind === "failed" ? { ...end, log } : end;
  } catch (error) {
    return { kind: "failed", ...failedBy(error) };
  } finally {
    log.end();
  }
}

async function writeCalled(
  job: EventJob,
  attempt: number,
  { stop, calls }: { readonly stop: StopSignal; readonly calls: Calls },
  deps: CallsDeps,
): Promise<AttemptEnd> {
  const { ranMs, called } = calls;
  if (called.plan.some(({ handler }) => handler.write !== undefined)) {
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

const NO_STEPS: BegunEvent["steps"] = new Map();

async function callAll(
  { job, attempt, stop, log }: Omit<TimeLimit, "timeoutMs"> & { readonly log: AttemptLog },
  { content, steps: recorded }: BegunEvent,
  deps: CallsDeps,
): Promise<CallsOrEnd> {
  const { handlers, ledger, database } = deps;
  const { event } = job;
  let ranMs: number | undefined;
  /** Runs a plan or a call within its time. The `ranMs` of each result is the sum so far. */
  const inTime = async <Value>(
    timeoutMs: number,
    run: (signal: LazySignal) => Promise<Value>,
  ): Promise<TimedResult<Value>> => {
    const end = await runInTime({ job, attempt, stop, timeoutMs }, deps, (watch, signal) =>
      unlessAborted(
        signal,
        watch.run(() => run(signal)),
      ),
    );
    ranMs = (ranMs ?? 0) + (end.ranMs ?? 0);
    return { ...end, ranMs };
  };
  const planned = await inTime(deps.handlerTimeoutMs, () => handlers.plan(event, attempt, content));
  if (planned.kind === "failed") return planned;
  const plan = planned.value;
  const { idempotencyKey } = handlers.eventOf(event, attempt, content);
  const steps = new Steps({
    recorded,
    idempotencyKey,
    record: (step) => database.retry(() => ledger.recordStep(keyOf(event), attempt, step), stop),
    isStopped: () => job.signal.aborted,
    trace: job.trace,
  });
  const results = new Map<Handler, unknown>();
  for (const { handler, payload } of plan) {
    const { call, timeoutMs = deps.handlerTimeoutMs } = handler;
    if (call === undefined) continue;
    const webhookEvent = handlers.eventOf(event, attempt, content, payload);
    failpoint("worker.before_call");
    if (job.signal.aborted) return { kind: "busy", ranMs };
    const end = await inTime(timeoutMs, async (signal) => {
      const make = async () => {
        const result = await steps.ofCall(signal, (once) =>
          call(webhookEvent, callContext(once, signal, log)),
        );
        refuseReturned(result);
        return result;
      };
      const { trace } = job;
      const { headers } = content;
      return await (trace ? trace.part("call", make, { headers }) : make());
    });
    // A later attempt has the event, even if the call caught the error.
    if (steps.isLost) return { kind: "busy", ranMs };
    if (end.kind === "failed") return end;
    results.set(handler, end.value);
  }
  failpoint("worker.called");
  return { kind: "called", ranMs, called: { content, plan, results, log } };
}

function callContext(once: Once, signal: LazySignal, log: AttemptLog): CallContext {
  const context = {
    once,
    get signal() {
      return signal.signal;
    },
    get log() {
      return log.lines;
    },
  };
  return withOtherPart(context, "call");
}

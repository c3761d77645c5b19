import {
  failpoint,
  wait,
  type AttemptFailure,
  type Claim,
  type EventJob,
  type EventKey,
  type JobResult,
  type StopSignal,
} from "@millrace/core";
import { isDatabaseUnavailable, type Ledger } from "@millrace/ledger";
import { failUnattempted } from "./abandon-job.ts";
import { attemptEvent, AttemptSignal } from "./attempt-event.ts";
import { BODY_MISSING, checkJob, IDENTITY_EXPIRED, unknownSource } from "./check-job.ts";
import type { DatabaseRetry } from "./database-retry.ts";
import { describeError } from "./describe-error.ts";
import type { FailureHook } from "./failure-hook.ts";
import type { FirstAttempts, FirstEnd } from "./first-attempts.ts";
import type { Notice } from "./notices.ts";
import { failed, handedBack, lost, refused, retry } from "./job-results.ts";
import {
  decideRetry,
  exhausted,
  type AttemptPolicy,
  type ClaimedAttempt,
  type RetryDecision,
} from "./retry-policy.ts";
import type { Handlers } from "./run-handlers.ts";
import type { Release, Slots } from "./slots.ts";

/** What the events of one processor share. */
export interface ProcessContext {
  readonly ledger: Ledger["claims"];
  /** Records a job, in one commit with those that arrive at the same time. */
  readonly record: (job: EventJob) => Promise<RecordedClaim>;
  readonly database: DatabaseRetry;
  readonly policies: ReadonlyMap<string, AttemptPolicy>;
  readonly slots: Slots;
  /** Undefined when every attempt is recorded before it is made. */
  readonly firstAttempts: FirstAttempts | undefined;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  readonly hook: FailureHook | undefined;
  readonly notify: (notice: Notice) => void;
  readonly random: () => number;
  /** Aborts when events that wait for a slot are handed back to the queue. */
  readonly draining: StopSignal;
  /** Aborts when events that run are handed back too. */
  readonly closing: StopSignal;
}

/** The ledger's answer for a job that Postgres did not refuse. */
export type RecordedClaim = Exclude<Claim, { readonly kind: "unrecorded" }>;

/**
 * The life of an event through the worker, from a job of the queue to the job's result:
 *
 * 1. check: refuse a job that the ingress cannot have written (check-job.ts);
 * 2. first: if nobody has attempted the event, admit it, run its handlers and write it as completed, in
 *    one transaction with events that wait at the same time (first-attempts.ts). Most events end here.
 *    What fails is recorded (4, 6); everything else is recorded before it is attempted:
 * 3. slot: wait until one of the handlers' slots is free (slots.ts);
 * 4. claim: count the attempt in the ledger, many jobs in one commit (ledger/record.ts);
 * 5. attempt: lock the event, run its handlers and settle it, all in one transaction
 *    (attempt-event.ts, ledger/attempt.ts);
 * 6. fail: or decide when the next attempt is due, and record the failure (retry-policy.ts,
 *    ledger/fail.ts).
 *
 * Never rejects.
 */
export async function processEvent(job: EventJob, context: ProcessContext): Promise<JobResult> {
  return await new EventRun(job, context).process();
}

// An error that is not the database's does not go away in a moment.
const UNEXPECTED_REPEATS = 4;
const FIRST_CLAIM: ClaimedAttempt = { kind: "claimed", attempt: 1, attemptSinceRetry: 1 };

/** One run of a job. */
class EventRun {
  private job: EventJob;
  private readonly key: EventKey;
  private readonly context: ProcessContext;
  private ownStop: AttemptSignal | undefined;
  private handlerMs: number | undefined;

  constructor(job: EventJob, context: ProcessContext) {
    const { source, eventId, generation } = job.event;
    // Without first attempts, handlers run only after a record.
    this.job = context.firstAttempts === undefined ? { ...job, startedBefore: false } : job;
    this.key = { source, eventId, generation };
    this.context = context;
  }

  /** Aborts when the job's lock is lost, the worker's time to stop is up, or the processor closes. */
  private get stop(): AttemptSignal {
    return (this.ownStop ??= new AttemptSignal([this.job.signal, this.context.closing]));
  }

  async process(): Promise<JobResult> {
    try {
      const result = await this.run();
      const isRefused = result.kind === "failed" && result.recorded !== true;
      return this.finished(
        isRefused ? await failUnattempted(this.job, result, this.context.ledger) : result,
      );
    } catch (error) {
      // An error of our own: the job is retried, and its code is in the logs.
      const afterMs = this.context.database.delayMs(0);
      return this.finished(retry("internal", describeError(error), afterMs));
    } finally {
      this.ownStop?.dispose();
    }
  }

  private async run(): Promise<JobResult> {
    const policy = this.context.policies.get(this.key.source);
    if (policy === undefined) return refused(unknownSource(this.job));
    const refusal = checkJob(this.job);
    if (refusal !== undefined) return refused(refusal);
    const first = await this.attemptFirst(policy);
    if (first?.kind === "ended") return await this.endFirst(first, policy);
    if (first?.ran === true) this.job = { ...this.job, startedBefore: true };
    // The slot comes first: an attempt is counted when it is recorded, and must not wait after that.
    const release = await this.waitForSlot();
    if (release === undefined) return this.notStarted();
    try {
      const claim = await this.claim();
      return claim.kind === "claimed" ? await this.attempt(claim, policy) : claim;
    } finally {
      release();
    }
  }

  /** Makes the first attempt of an event that nobody has claimed; undefined when there may have been one. */
  private async attemptFirst(policy: AttemptPolicy): Promise<FirstEnd | undefined> {
    const { job, context } = this;
    const { draining, firstAttempts } = context;
    if (job.event.generation > 0 || job.startedBefore !== false) return undefined;
    if (draining.aborted) return undefined;
    return await firstAttempts?.attempt(job, policy);
  }

  /** The result of a first attempt; one that failed is recorded first, unless it was recorded as it ran. */
  private async endFirst(
    { end, recorded }: FirstEnd & { readonly kind: "ended" },
    policy: AttemptPolicy,
  ): Promise<JobResult> {
    this.handlerMs = end.handlerMs;
    if (end.kind === "lost") return lost(this.context.random);
    if (end.kind === "completed") {
      this.notifyClaimed(FIRST_CLAIM);
      return { kind: "completed", outcome: end.outcome };
    }
    const claim = recorded ? FIRST_CLAIM : await this.claimFailed();
    if (claim.kind !== "claimed") return claim;
    this.notifyClaimed(claim);
    return await this.fail(claim, decideRetry(end, claim, policy, this.context));
  }

  private notifyClaimed({ attempt, attemptSinceRetry }: ClaimedAttempt): void {
    const queueAgeMs = Date.now() - this.job.enqueuedAtMs;
    this.context.notify({ kind: "claimed", key: this.key, attempt, attemptSinceRetry, queueAgeMs });
  }

  private async waitForSlot(): Promise<Release | undefined> {
    const { slots, draining } = this.context;
    const waiting = new AttemptSignal([this.stop, draining]);
    try {
      return await slots.acquire(this.key.source, waiting);
    } finally {
      waiting.dispose();
    }
  }

  /** Records the job: an attempt that is ours to run, or the job's result. */
  private async claim(): Promise<ClaimedAttempt | JobResult> {
    const { database, record, notify } = this.context;
    let claim: RecordedClaim;
    try {
      claim = await database.retry(() => record(this.job), this.stop);
    } catch (error) {
      return this.unrecorded(error);
    }
    if (claim.conflict === true) notify({ kind: "conflict", key: this.key });
    switch (claim.kind) {
      case "claimed":
        return claim;
      case "completed":
        return { kind: "duplicate" };
      case "failed":
        // The ledger has the body, unless it could not hold the event: then the job keeps it.
        return { ...failed(claim), recorded: claim.code !== "invalid_envelope" };
      case "busy":
        return lost(this.context.random);
      case "body_missing":
        return refused(BODY_MISSING);
      case "identity_expired":
        return refused(IDENTITY_EXPIRED);
    }
  }

  /** Records a first attempt that has failed; an ingress that marks the event may hold its row for a moment. */
  private async claimFailed(): Promise<ClaimedAttempt | JobResult> {
    let claim = await this.claim();
    for (let waitMs = 20; claim.kind === "lost" && waitMs < 500; waitMs *= 4) {
      await wait(waitMs, this.stop);
      claim = await this.claim();
    }
    return claim;
  }

  private unrecorded(error: unknown): JobResult {
    const { database, notify } = this.context;
    const message = describeError(error);
    notify({ kind: "unrecorded", key: this.key, step: "record", message });
    if (this.stop.aborted) return this.notStarted();
    return isDatabaseUnavailable(error)
      ? retry("database_unavailable", message, database.delayMs(0))
      : retry("internal", message, database.delayMs(UNEXPECTED_REPEATS));
  }

  private async attempt(claim: ClaimedAttempt, policy: AttemptPolicy): Promise<JobResult> {
    const { job, context } = this;
    const { attempt, attemptSinceRetry } = claim;
    this.notifyClaimed(claim);
    if (attemptSinceRetry > policy.attempts) return await this.fail(claim, exhausted(policy));
    failpoint("worker.recorded");
    const { bodyDedup } = policy;
    const limits = { stop: this.stop, bodyDedup, isNew: claim.isNew };
    const end = await attemptEvent(job, attempt, limits, context);
    this.handlerMs = end.handlerMs;
    switch (end.kind) {
      case "completed":
        return { kind: "completed", outcome: end.outcome };
      case "lost":
        return lost(this.context.random);
      case "failed":
        return await this.fail(claim, decideRetry(end, claim, policy, context));
    }
  }

  private async fail(claim: ClaimedAttempt, decision: RetryDecision): Promise<JobResult> {
    const { key, job, context } = this;
    const { attempt } = claim;
    const { afterMs, ...failure } = decision;
    const { code, message, counts } = failure;
    const recorded = await this.recordFailure(attempt, { ...failure, run: job.run });
    if (recorded === "lost") return lost(this.context.random);
    const { type } = job.event;
    const final = failure.final && recorded === "recorded";
    context.notify({ kind: "attempt_failed", key, type, attempt, code, message, final, counts });
    if (final) context.hook?.call({ ...key, type, attempts: attempt, code, message });
    if (code === "lost_claim") return lost(this.context.random);
    if (final) return failed({ code, message });
    if (recorded === "recorded") return { ...retry(code, message, afterMs), recorded: true };
    // A last failure has no delay of its own, and what refused it does not go away in a moment.
    return retry(code, message, Math.max(afterMs, context.database.delayMs(0)));
  }

  private async recordFailure(
    attempt: number,
    failure: AttemptFailure,
  ): Promise<"recorded" | "lost" | "unrecorded"> {
    const { key, context } = this;
    failpoint("worker.before_fail");
    try {
      const step = () => context.ledger.fail(key, attempt, failure);
      return await context.database.retry(step, this.stop);
    } catch (error) {
      context.notify({ kind: "unrecorded", key, step: "fail", message: describeError(error) });
      return "unrecorded";
    }
  }

  /** Hands back a job that was stopped before its event was claimed. */
  private notStarted(): JobResult {
    const { draining, random } = this.context;
    const reason = this.stop.aborted ? this.stop.reason : draining.reason;
    return handedBack(reason, random);
  }

  private finished(result: JobResult): JobResult {
    const { event, enqueuedAtMs } = this.job;
    const now = Date.now();
    this.context.notify({
      kind: "finished",
      key: this.key,
      result: result.kind,
      outcome: result.kind === "completed" ? result.outcome : undefined,
      code: "code" in result ? result.code : undefined,
      handlerMs: this.handlerMs,
      sinceReceivedMs: now - event.acceptedAtMs,
      queueAgeMs: now - enqueuedAtMs,
    });
    return result;
  }
}

import {
  failpoint,
  wait,
  withDeadline,
  type AttemptFailure,
  type Claim,
  type EventJob,
  type EventKey,
  type JobResult,
  type OnEmitted,
  type StopSignal,
} from "@millrace/core";
import { isDatabaseUnavailable, type Ledger } from "@millrace/ledger";
import { failUnattempted } from "./abandon-job.ts";
import { attemptEvent, AttemptSignal } from "../handler/attempt-event.ts";
import { checkJob, unknownSource } from "./check-job.ts";
import type { DatabaseRetry } from "./database-retry.ts";
import { describeError } from "../errors/describe-error.ts";
import { errorDetails, type KeptOptions } from "../errors/error-details.ts";
import type { InternalSources } from "../handler/emit.ts";
import type { FailureHook } from "./failure-hook.ts";
import type { FirstAttempts, FirstEnd } from "../groups/first-attempts.ts";
import type { OpenLog } from "../handler/handler-log.ts";
import { callThenWrite } from "../handler/make-calls.ts";
import type { Notice } from "../notices.ts";
import { failed, handedBack, isDecided, lost, refused, retry } from "./job-results.ts";
import {
  decideRetry,
  exhausted,
  FIRST_CLAIM,
  type AttemptPolicy,
  type ClaimedAttempt,
  type FailedAttempt,
  type RetryDecision,
} from "./retry-policy.ts";
import type { Handlers, Plan } from "../handler/run-handlers.ts";
import type { Release, Slots } from "./slots.ts";
import { trustJob, type JobTrust } from "./trust-job.ts";

/** What the events of one processor share. */
export interface ProcessContext {
  readonly ledger: Ledger["claims"];
  /** Records a job, in one commit with those that arrive at the same time. */
  readonly record: (job: EventJob) => Promise<RecordedClaim>;
  readonly database: DatabaseRetry;
  readonly policies: ReadonlyMap<string, AttemptPolicy>;
  /** For transactions: each holds a connection. */
  readonly slots: Slots;
  /** For events whose handlers make calls, which hold none. */
  readonly callPlaces: Slots;
  /** Undefined when every attempt is recorded before it is made. */
  readonly firstAttempts: FirstAttempts | undefined;
  readonly handlers: Handlers;
  readonly handlerTimeoutMs: number;
  /** What of a failed attempt is kept. */
  readonly kept: KeptOptions;
  readonly internalSources: InternalSources;
  /** Gets what handlers emitted, after the COMMIT. */
  readonly onEmitted: OnEmitted;
  /** False where jobs are not signed, and taken at their word. */
  readonly signsJobs: boolean;
  readonly hook: FailureHook | undefined;
  readonly openLog: OpenLog;
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
 * 1. check: refuse a job that the ingress cannot have written (check-job.ts). Of a job without a valid MAC nothing
 *    is taken but which event it names: if the ledger has the event, it runs with what is written there;
 * 2. first: if nobody has attempted the event, admit it, run its handlers and write it as completed, in
 *    one transaction with events that wait at the same time (first-attempts.ts). Most events end here.
 *    What fails is recorded (4, 7); everything else is recorded before it is attempted:
 * 3. slot: wait until one of the handlers' slots is free (slots.ts), or a place for calls if they make any;
 * 4. claim: count the attempt in the ledger, many jobs in one commit (ledger/record.ts);
 * 5. call: make the handlers' calls, with nothing of Postgres held, then take a slot (make-calls.ts);
 * 6. attempt: lock the event, run what its handlers write and settle it, all in one transaction
 *    (attempt-event.ts, ledger/attempt.ts);
 * 7. fail: or decide when the next attempt is due, and record the failure (retry-policy.ts,
 *    ledger/fail.ts).
 *
 * Never rejects.
 */
export async function processEvent(job: EventJob, context: ProcessContext): Promise<JobResult> {
  return await new EventRun(job, context).process();
}

// An error that is not the database's does not go away in a moment.
const UNEXPECTED_REPEATS = 4;
/** One run of a job. */
class EventRun {
  private job: EventJob;
  private readonly key: EventKey;
  private readonly context: ProcessContext;
  private readonly trust: JobTrust;
  private ownStop: AttemptSignal | undefined;
  private handlerMs: number | undefined;

  constructor(job: EventJob, context: ProcessContext) {
    const { source, eventId, generation } = job.event;
    this.trust = trustJob(job, context.signsJobs);
    const { job: taken } = this.trust;
    // Only a first attempt runs handlers before its record, and a replay is none: one whose claim found the row
    // held starts twice, and has run once.
    const mayHaveRun = context.firstAttempts !== undefined && generation === 0;
    this.job = mayHaveRun ? taken : { ...taken, startedBefore: false };
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
        isRefused && this.trust.isTrusted
          ? await failUnattempted(this.job, result, this.context.ledger)
          : result,
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
    // It comes first: an attempt is counted when it is recorded, and must not wait for its begin after that.
    const { slots, callPlaces } = this.context;
    const place = this.hasCalls() ? callPlaces : slots;
    const release = await this.waitFor(place);
    if (release === undefined) return this.notStarted();
    try {
      const claim = await this.claim();
      if (claim.kind !== "claimed") return claim;
      // The type of the row counts, which may be another than the job's.
      const isTwoPhased = place === callPlaces || this.hasCalls();
      return await this.attempt(claim, policy, isTwoPhased ? release : undefined);
    } finally {
      release();
    }
  }

  private hasCalls(): boolean {
    return this.context.handlers.haveCalls(this.job.event);
  }

  /** Makes the first attempt of an event that nobody has claimed; undefined when there may have been one. */
  private async attemptFirst(policy: AttemptPolicy): Promise<FirstEnd | undefined> {
    const { job, context } = this;
    const { draining, firstAttempts } = context;
    if (job.event.generation > 0 || job.startedBefore !== false) return undefined;
    if (!this.trust.isTrusted || draining.aborted || this.hasCalls()) return undefined;
    const plan = await this.check();
    // It is recorded first, and then fails by what the ledger has of it.
    return plan === "failed" ? undefined : await firstAttempts?.attempt({ job, policy, plan });
  }

  /** Checks the body that a job carries, before its event enters a group. */
  private async check(): Promise<Plan | "failed" | undefined> {
    const { event } = this.job;
    const { handlers, handlerTimeoutMs } = this.context;
    const { headers, body } = event;
    if (body === undefined || !handlers.haveChecks(event)) return undefined;
    try {
      const late = () => new Error("Its schema takes too long");
      const plan = handlers.plan(event, 1, { headers, body });
      return await withDeadline(plan, handlerTimeoutMs, late);
    } catch {
      return "failed";
    }
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
    return await this.fail(claim, decideRetry(end, claim, policy, this.context), end);
  }

  private notifyClaimed({ attempt, attemptSinceRetry }: ClaimedAttempt): void {
    const queueAgeMs = Date.now() - this.job.enqueuedAtMs;
    this.context.notify({ kind: "claimed", key: this.key, attempt, attemptSinceRetry, queueAgeMs });
  }

  private async waitFor(places: Slots): Promise<Release | undefined> {
    const waiting = new AttemptSignal([this.stop, this.context.draining]);
    try {
      return await places.acquire(this.key.source, waiting);
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
        // The row is the truth: another delivery of the event may have told otherwise.
        if (claim.stored !== undefined) {
          this.job = { ...this.job, event: { ...this.job.event, ...claim.stored } };
        }
        return claim;
      case "completed":
        return { kind: "duplicate" };
      case "failed":
        // The ledger has the body, unless it could not hold the event: then the job keeps it.
        return { ...failed(claim), recorded: claim.code !== "invalid_envelope" };
      case "busy":
        return lost(this.context.random);
      case "body_missing":
      case "identity_expired":
        return refused(this.trust.unknown[claim.kind]);
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

  /** @param place - of an event that makes calls: given back when they are made. */
  private async attempt(
    claim: ClaimedAttempt,
    policy: AttemptPolicy,
    place: Release | undefined,
  ): Promise<JobResult> {
    const { job, context } = this;
    const { attempt, attemptSinceRetry } = claim;
    this.notifyClaimed(claim);
    if (attemptSinceRetry > policy.attempts) return await this.fail(claim, exhausted(policy));
    failpoint("worker.recorded");
    const { bodyDedup } = policy;
    const limits = { stop: this.stop, bodyDedup, isNew: claim.isNew };
    const end =
      place === undefined
        ? await attemptEvent(job, attempt, limits, context)
        : await callThenWrite(job, claim, { stop: this.stop, bodyDedup, place }, context);
    this.handlerMs = end.handlerMs;
    switch (end.kind) {
      case "completed":
        return { kind: "completed", outcome: end.outcome };
      case "lost":
        return lost(this.context.random);
      case "failed":
        return await this.fail(claim, decideRetry(end, claim, policy, context), end);
    }
  }

  /** @param attempted - what failed; undefined when no attempt was made. */
  private async fail(
    claim: ClaimedAttempt,
    decision: RetryDecision,
    attempted?: FailedAttempt,
  ): Promise<JobResult> {
    const { key, job, context } = this;
    const { attempt } = claim;
    const { code, message, counts, afterMs } = decision;
    const details = errorDetails(decision, attempted, context.kept);
    const recorded = await this.recordFailure(attempt, { ...decision, run: job.run, details });
    if (recorded === "lost") return lost(this.context.random);
    const { type } = job.event;
    const final = decision.final && recorded === "recorded";
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
    const { event, enqueuedAtMs, mac } = this.job;
    const now = Date.now();
    if (mac !== undefined && isDecided(result)) {
      const isRefused = result.kind === "failed" && result.recorded !== true;
      this.context.notify({ kind: "mac_invalid", key: this.key, mac, refused: isRefused });
    }
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

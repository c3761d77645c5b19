import {
  failpoint,
  keyOf,
  wait,
  type Claim,
  type EventJob,
  type EventKey,
  type JobResult,
  type StopSignal,
} from "@millrace/core";
import { isDatabaseUnavailable, type Ledger } from "@millrace/ledger";
import { failUnattempted } from "./abandon-job.ts";
import {
  attemptRecorded,
  AttemptSignal,
  type AttemptDeps,
  type AttemptEnd,
} from "../handler/run-attempt.ts";
import { failAttempt, type FailDeps } from "./fail-attempt.ts";
import { describeError } from "../errors/describe-error.ts";
import type { FirstAttempts } from "../groups/first-attempts.ts";
import { callThenWrite } from "../handler/make-calls.ts";
import {
  decideRetry,
  exhausted,
  FIRST_CLAIM,
  handedBack,
  lost,
  retry,
  suspectedReplay,
  type AttemptPolicy,
  type ClaimedAttempt,
  type FailedAttempt,
  type RetryDecision,
} from "./retry-policy.ts";
import type { Release, Slots } from "./slots.ts";
import { checkJob, trustJob, unknownSource, type JobTrust } from "./trust-job.ts";

export interface ProcessContext extends AttemptDeps, FailDeps {
  readonly ledger: Ledger["claims"];
  readonly record: (job: EventJob) => Promise<RecordedClaim>;
  readonly policies: ReadonlyMap<string, AttemptPolicy>;
  readonly slots: Slots;
  readonly callSlots: Slots;
  readonly firstAttempts: FirstAttempts | undefined;
  readonly signsJobs: boolean;
  /** Aborts when events that wait for a slot are handed back to the queue. */
  readonly draining: StopSignal;
  /** Aborts when events that run are handed back too. */
  readonly closing: StopSignal;
}

// An unexpected error does not pass at once.
const UNEXPECTED_REPEATS = 4;

type RecordedClaim = Exclude<Claim, { readonly kind: "unrecorded" }>;

/**
 * The life of an event through the worker, from a job of the queue to the job's result:
 * 1. check: refuse a job that the ingress cannot have written (trust-job.ts). Only the event's key
 *    counts of a job without a valid MAC: if the ledger has the event, the ledger's content runs;
 * 2. first: if nobody has attempted the event, admit it, run its handlers and write it as
 *    completed, in one transaction with events that wait at the same time (first-attempts.ts). Most
 *    events end here. Failures are recorded (4, 7). All other events are recorded before they are
 *    attempted:
 * 3. slot: wait for a slot of the handlers, or for a call slot if they make calls (slots.ts);
 * 4. claim: count the attempt in the ledger, many jobs in one commit (ledger/record.ts);
 * 5. call: make the handlers' calls without a connection, then take a slot (make-calls.ts);
 * 6. attempt: lock the event, run the handlers' writes and settle it, in one transaction
 *    (run-attempt.ts, ledger/run-attempt.ts);
 * 7. fail: or decide when the next attempt is due, and record the failure (retry-policy.ts,
 *    ledger/fail.ts).
 * Never rejects.
 */
export class EventRun {
  #job: EventJob;
  readonly #key: EventKey;
  readonly #context: ProcessContext;
  readonly #trust: JobTrust;
  #ownStop: AttemptSignal | undefined;
  #handlerMs: number | undefined;

  constructor(job: EventJob, context: ProcessContext) {
    this.#trust = trustJob(job, context.signsJobs);
    const { job: taken } = this.#trust;
    // Only a first attempt runs handlers before its record; a replay is never one.
    const mayHaveRun = context.firstAttempts !== undefined && job.event.generation === 0;
    this.#job = mayHaveRun ? taken : { ...taken, startedBefore: false };
    this.#key = keyOf(job.event);
    this.#context = context;
  }

  get #stop(): AttemptSignal {
    return (this.#ownStop ??= new AttemptSignal([this.#job.signal, this.#context.closing]));
  }

  async process(): Promise<JobResult> {
    try {
      const result = await this.#run();
      const isRefused = result.kind === "failed" && result.recorded !== true;
      return this.#finished(
        isRefused && this.#trust.isTrusted
          ? await failUnattempted(this.#job, result, this.#context.ledger)
          : result,
      );
    } catch (error) {
      // An error of our own: the job is retried, and its code is in the logs.
      const afterMs = this.#context.database.delayMs(0);
      return this.#finished(retry("internal", describeError(error), afterMs));
    } finally {
      this.#ownStop?.dispose();
    }
  }

  async #run(): Promise<JobResult> {
    const policy = this.#context.policies.get(this.#key.source);
    if (policy === undefined) return { kind: "failed", ...unknownSource(this.#job) };
    const refusal = checkJob(this.#job);
    if (refusal !== undefined) return { kind: "failed", ...refusal };
    const first = await this.#attemptFirst();
    if (first !== undefined && first.kind !== "record_first") {
      return await this.#endFirst(first, policy);
    }
    if (first?.reason !== undefined) this.#job = { ...this.#job, startedBefore: true };
    // The slot comes first: an attempt that is counted must not wait for its start.
    const { slots, callSlots } = this.#context;
    const slotsOfKind = this.#hasCalls() ? callSlots : slots;
    const release = await this.#waitFor(slotsOfKind);
    if (release === undefined) return this.#notStarted();
    try {
      const claim = await this.#claim();
      if (claim.kind !== "claimed") return claim;
      // The type of the row counts, which may be another than the job's.
      const isTwoPhased = slotsOfKind === callSlots || this.#hasCalls();
      return await this.#attempt(claim, policy, isTwoPhased ? release : undefined);
    } finally {
      release();
    }
  }

  #hasCalls(): boolean {
    return this.#context.handlers.haveCalls(this.#job.event);
  }

  async #attemptFirst(): Promise<AttemptEnd | undefined> {
    const job = this.#job;
    const { draining, firstAttempts } = this.#context;
    if (job.event.generation > 0 || job.startedBefore !== false) return undefined;
    if (!this.#trust.isTrusted || draining.aborted || this.#hasCalls()) return undefined;
    const { handlers, handlerTimeoutMs } = this.#context;
    const plan = await handlers.planFirst(job.event, handlerTimeoutMs);
    // It is recorded first, and then fails by the ledger's content.
    return plan === "failed" ? undefined : await firstAttempts?.attempt({ job, plan });
  }

  async #endFirst(end: AttemptEnd, policy: AttemptPolicy): Promise<JobResult> {
    this.#handlerMs = end.ranMs;
    const isUnrecorded = end.kind === "failed" && end.recorded !== true;
    const claim = isUnrecorded ? await this.#claimFailed() : FIRST_CLAIM;
    if (claim.kind !== "claimed") return claim;
    if (end.kind !== "busy") this.#notifyClaimed(claim);
    if (claim.copyOf !== undefined) return await this.#fail(claim, suspectedReplay(claim.copyOf));
    return await this.#settle(end, claim, policy);
  }

  #notifyClaimed({ attempt, attemptSinceRetry }: ClaimedAttempt): void {
    const key = this.#key;
    const queueAgeMs = Date.now() - this.#job.enqueuedAtMs;
    this.#job.trace?.claimed(attempt);
    this.#context.notify({ kind: "claimed", key, attempt, attemptSinceRetry, queueAgeMs });
  }

  async #waitFor(slots: Slots): Promise<Release | undefined> {
    const waiting = new AttemptSignal([this.#stop, this.#context.draining]);
    try {
      return await slots.acquire(this.#key.source, waiting);
    } finally {
      waiting.dispose();
    }
  }

  async #claim(): Promise<ClaimedAttempt | JobResult> {
    const { database, record, notify } = this.#context;
    let claim: RecordedClaim;
    try {
      claim = await database.retry(() => record(this.#job), this.#stop);
    } catch (error) {
      return this.#unrecorded(error);
    }
    if (claim.conflict === true) notify({ kind: "conflict", key: this.#key });
    switch (claim.kind) {
      case "claimed":
        // The row counts: another delivery of the event can have another type.
        if (claim.stored !== undefined) {
          this.#job = { ...this.#job, event: { ...this.#job.event, ...claim.stored } };
        }
        return claim;
      case "completed":
        return { kind: "duplicate" };
      case "failed": {
        const { kind, code, message } = claim;
        // The ledger has the body, unless it could not hold the event: then the job keeps it.
        return { kind, code, message, recorded: code !== "invalid_envelope" };
      }
      case "busy":
        return lost(this.#context.random);
      case "body_missing":
      case "identity_expired":
        return { kind: "failed", ...this.#trust.unknown[claim.kind] };
    }
  }

  /** Records a failed first attempt. An ingress that marks the event can lock its row briefly. */
  async #claimFailed(): Promise<ClaimedAttempt | JobResult> {
    let claim = await this.#claim();
    for (let waitMs = 20; claim.kind === "lost" && waitMs < 500; waitMs *= 4) {
      await wait(waitMs, this.#stop);
      claim = await this.#claim();
    }
    return claim;
  }

  #unrecorded(error: unknown): JobResult {
    const { database, notify } = this.#context;
    const message = describeError(error);
    notify({ kind: "unrecorded", key: this.#key, step: "record", message });
    if (this.#stop.aborted) return this.#notStarted();
    return isDatabaseUnavailable(error)
      ? retry("database_unavailable", message, database.delayMs(0))
      : retry("internal", message, database.delayMs(UNEXPECTED_REPEATS));
  }

  /** @param release - of the call slot of an event that makes calls. */
  async #attempt(
    claim: ClaimedAttempt,
    policy: AttemptPolicy,
    release: Release | undefined,
  ): Promise<JobResult> {
    const job = this.#job;
    const context = this.#context;
    const { attempt, attemptSinceRetry, copyOf } = claim;
    this.#notifyClaimed(claim);
    if (copyOf !== undefined) return await this.#fail(claim, suspectedReplay(copyOf));
    if (attemptSinceRetry > policy.attempts) return await this.#fail(claim, exhausted(policy));
    failpoint("worker.recorded");
    const stop = this.#stop;
    const end =
      release === undefined
        ? await attemptRecorded(job, attempt, { stop, isNew: claim.isNew }, context)
        : await callThenWrite(job, claim, { stop, release }, context);
    return await this.#settle(end, claim, policy);
  }

  async #settle(end: AttemptEnd, claim: ClaimedAttempt, policy: AttemptPolicy): Promise<JobResult> {
    this.#handlerMs = end.ranMs;
    if (end.kind === "completed") return { kind: "completed", outcome: end.outcome };
    if (end.kind !== "failed") return lost(this.#context.random);
    return await this.#fail(claim, decideRetry(end, claim, policy, this.#context), end);
  }

  #fail(
    claim: ClaimedAttempt,
    decision: RetryDecision,
    attempted?: FailedAttempt,
  ): Promise<JobResult> {
    return failAttempt({ job: this.#job, claim, decision, attempted }, this.#stop, this.#context);
  }

  #notStarted(): JobResult {
    const { draining, random } = this.#context;
    return handedBack(this.#stop.aborted ? this.#stop.reason : draining.reason, random);
  }

  #finished(result: JobResult): JobResult {
    const { event, enqueuedAtMs, mac } = this.#job;
    const now = Date.now();
    const isDecided = result.kind === "retry" ? result.recorded : result.kind !== "lost";
    if (mac !== undefined && isDecided) {
      const isRefused = result.kind === "failed" && result.recorded !== true;
      this.#context.notify({ kind: "mac_invalid", key: this.#key, mac, refused: isRefused });
    }
    this.#context.notify({
      kind: "finished",
      key: this.#key,
      result: result.kind,
      outcome: result.kind === "completed" ? result.outcome : undefined,
      code: "code" in result ? result.code : undefined,
      handlerMs: this.#handlerMs,
      sinceReceivedMs: now - event.acceptedAtMs,
      queueAgeMs: now - enqueuedAtMs,
    });
    return result;
  }
}

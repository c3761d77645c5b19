import {
  failpoint,
  keyOf,
  type AttemptFailure,
  type EventJob,
  type EventKey,
  type JobResult,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { describeError } from "../errors/describe-error.ts";
import { errorDetails, type KeptOptions } from "../errors/error-details.ts";
import type { AttemptDeps, AttemptSignal } from "../handler/run-attempt.ts";
import type { FailureHook } from "./abandon-job.ts";
import type { DatabaseRetry } from "./database-retry.ts";
import {
  lost,
  retry,
  type ClaimedAttempt,
  type FailedAttempt,
  type RetryDecision,
} from "./retry-policy.ts";

export interface FailDeps extends Pick<AttemptDeps, "notify" | "handlers"> {
  readonly ledger: Pick<Ledger["claims"], "fail">;
  readonly database: DatabaseRetry;
  readonly kept: KeptOptions;
  readonly hook: FailureHook | undefined;
  readonly random: () => number;
}

interface FailedRun {
  readonly job: EventJob;
  readonly claim: ClaimedAttempt;
  readonly decision: RetryDecision;
  readonly attempted: FailedAttempt | undefined;
}

/** Records and reports a failed attempt, and returns its job's result. Never rejects. */
export async function failAttempt(
  { job, claim, decision, attempted }: FailedRun,
  stop: AttemptSignal,
  deps: FailDeps,
): Promise<JobResult> {
  const key = keyOf(job.event);
  const { attempt } = claim;
  const { code, message, counts, afterMs } = decision;
  const { run, event } = job;
  const boundBy = deps.handlers.boundBy(event);
  const details = errorDetails(decision, attempted, deps.kept, boundBy);
  const failure = { ...decision, run, details };
  const recorded = await recordFailure({ key, attempt, failure }, stop, deps);
  if (recorded === "lost") return lost(deps.random);
  const { type } = event;
  const final = decision.final && recorded === "recorded";
  deps.notify({ kind: "attempt_failed", key, type, attempt, code, message, final, counts });
  if (final) deps.hook?.call({ ...key, type, attempts: attempt, code, message });
  if (code === "lost_claim") return lost(deps.random);
  if (final) return { kind: "failed", code, message, recorded: true };
  if (recorded === "recorded") return { ...retry(code, message, afterMs), recorded: true };
  // A last failure has no delay of its own, and the refusal of its record does not pass at once.
  return retry(code, message, Math.max(afterMs, deps.database.delayMs(0)));
}

async function recordFailure(
  { key, attempt, failure }: { key: EventKey; attempt: number; failure: AttemptFailure },
  stop: AttemptSignal,
  { database, ledger, notify }: FailDeps,
): Promise<"recorded" | "lost" | "unrecorded"> {
  failpoint("worker.before_fail");
  try {
    return await database.retry(() => ledger.fail(key, attempt, failure), stop);
  } catch (error) {
    notify({ kind: "unrecorded", key, step: "fail", message: describeError(error) });
    return "unrecorded";
  }
}

import {
  isMillraceError,
  isPermanentError,
  isRetryLater,
  type AttemptFailure,
  type Claim,
  type ErrorCode,
  type SourcePolicy,
} from "@millrace/core";
import { isDatabaseUnavailable } from "@millrace/ledger";
import type { DatabaseRetry } from "./database-retry.ts";
import { describeError } from "./describe-error.ts";

/** The part of a source's policy that decides about attempts. */
export type AttemptPolicy = Pick<SourcePolicy, "attempts" | "backoff" | "bodyDedup">;

/** An attempt that was counted in the ledger and is ours to run. */
export type ClaimedAttempt = Claim & { readonly kind: "claimed" };

/** How an attempt ended that did not complete its event. */
export interface FailedAttempt {
  readonly error: unknown;
  /** True when a handler threw it; false when it came from the ledger. */
  readonly thrownByHandler: boolean;
  /** Why the attempt was broken off, if it was. */
  readonly abortReason: unknown;
}

/** What follows from a failed attempt; `afterMs` is for an event that does not fail with it. */
export type RetryDecision = Omit<AttemptFailure, "run"> & { readonly afterMs: number };

interface Deps {
  readonly database: Pick<DatabaseRetry, "delayMs">;
  readonly random: () => number;
}

const SHUTDOWN_DELAY_MS_MAX = 1_000;
// Past it BullMQ's score for a delayed job runs out of digits long before the event would matter.
const RETRY_LATER_MS_MAX = 30 * 86_400_000;
// An unavailable Postgres fails an event about once: after that the event is not even recorded. An
// event that fails so often is at fault itself: its handler always deadlocks, or brings Postgres down.
const FORGIVEN_MAX = 50;

/** Decides what a failed attempt means: its code, whether it counts, and whether it was the last. */
export function decideRetry(
  failed: FailedAttempt,
  claim: ClaimedAttempt,
  policy: AttemptPolicy,
  deps: Deps,
): RetryDecision {
  const { error, abortReason } = failed;
  const { attemptSinceRetry } = claim;
  const last = attemptSinceRetry >= policy.attempts;
  const counted = (code: ErrorCode, final: boolean, cause: unknown = error): RetryDecision => ({
    code,
    message: describeError(cause),
    final,
    counts: true,
    afterMs: backoffMs(policy.backoff, attemptSinceRetry, deps.random),
  });

  if (abortReason !== undefined) {
    if (hasCode(abortReason, "handler_timeout"))
      return counted("handler_timeout", last, abortReason);
    if (hasCode(abortReason, "shutting_down")) {
      return givenBack(
        "shutting_down",
        abortReason,
        Math.round(SHUTDOWN_DELAY_MS_MAX * deps.random()),
      );
    }
    // Not final, and it counts: a handler that blocks the process loses its lock every time.
    return counted("lost_claim", false, abortReason);
  }
  if (isPermanentError(error)) return counted("permanent_error", true);
  if (isRetryLater(error)) {
    return { ...counted("handler_failed", last), afterMs: withinBounds(error.afterMs) };
  }
  if (isDatabaseUnavailable(error)) {
    // Attempts that the policy does not count: those that were given back, and those before a retry.
    const earlier = claim.attempt - attemptSinceRetry;
    return earlier < FORGIVEN_MAX
      ? givenBack("database_unavailable", error, deps.database.delayMs(earlier))
      : counted("database_unavailable", last);
  }
  const code = codeOf(failed);
  return counted(code, last || code === "body_missing");
}

/** The decision for an event whose last attempts died with their workers; no other is begun. */
export function exhausted({ attempts }: AttemptPolicy): RetryDecision {
  return {
    code: "attempts_exhausted",
    message: `Cannot attempt event: the last of its ${attempts} attempts ended without reporting a result`,
    final: true,
    counts: true,
    afterMs: 0,
  };
}

/** An attempt that uses none of the policy's attempts up. */
function givenBack(code: ErrorCode, cause: unknown, afterMs: number): RetryDecision {
  return { code, message: describeError(cause), final: false, counts: false, afterMs };
}

/** The ledger's own codes are kept. A handler's errors are `handler_failed` whatever they carry,
 * except for the two that say how it misused its transaction. */
function codeOf({ error, thrownByHandler }: FailedAttempt): ErrorCode {
  if (!isMillraceError(error)) return "handler_failed";
  if (!thrownByHandler) return error.code;
  return error.code === "tx_closed" || error.code === "tx_control_refused"
    ? error.code
    : "handler_failed";
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return isMillraceError(error) && error.code === code;
}

function withinBounds(afterMs: unknown): number {
  if (typeof afterMs !== "number" || Number.isNaN(afterMs)) return 0;
  return Math.round(Math.min(Math.max(afterMs, 0), RETRY_LATER_MS_MAX));
}

/**
 * Milliseconds until the next attempt: `firstMs` times `factor` for each failure after the first,
 * at most `maxMs`, drawn evenly between 0 and that (full jitter).
 *
 * @param failures - failed attempts so far, from 1.
 * @param random - gives a number from 0 to 1, as Math.random does.
 * @internal
 */
export function backoffMs(
  policy: SourcePolicy["backoff"],
  failures: number,
  random: () => number,
): number {
  const longest = Math.min(policy.firstMs * policy.factor ** (failures - 1), policy.maxMs);
  return Math.round(longest * random());
}

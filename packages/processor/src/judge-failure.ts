import {
  isMillraceError,
  isPermanentError,
  isRetryLater,
  type AttemptFailure,
  type Claim,
  type ErrorCode,
} from "@millrace/core";
import { backoffMs } from "./backoff.ts";
import type { AttemptPolicy } from "./context.ts";
import type { DatabasePatience } from "./database-patience.ts";
import { describeError } from "./describe-error.ts";

/** How an attempt ended that did not complete its event. */
export interface FailedAttempt {
  readonly error: unknown;
  /** True when a handler threw it; false when it came from the ledger. */
  readonly thrownByHandler: boolean;
  /** Why the attempt was broken off, if it was. */
  readonly brokenOff: unknown;
}

/** What follows from it; `afterMs` is for an event that is not failed with it. */
export type Judgement = Omit<AttemptFailure, "run"> & { readonly afterMs: number };

const SHUTDOWN_DELAY_MS_MAX = 1_000;
// Past it BullMQ's score for a delayed job runs out of digits long before the event would matter.
const RETRY_LATER_MS_MAX = 30 * 86_400_000;
// A Postgres that is away strikes an event about once: after it the event is not even recorded. One
// that is struck so often is at fault itself: its handler always deadlocks, or brings Postgres down.
const FORGIVEN_MAX = 50;

/** Decides what a failed attempt means: its code, whether it counts, whether it was the last. */
export function judgeFailure(
  failed: FailedAttempt,
  claim: Claim & { kind: "claimed" },
  policy: AttemptPolicy,
  deps: JudgeDeps,
): Judgement {
  const { attemptSinceRetry } = claim;
  const last = attemptSinceRetry >= policy.attempts;
  const reason = failed.brokenOff ?? failed.error;
  const counted = (code: ErrorCode, final: boolean, afterMs?: number): Judgement => ({
    code,
    message: describeError(code === "handler_timeout" ? reason : failed.error),
    final,
    counts: true,
    afterMs: afterMs ?? backoffMs(policy.backoff, attemptSinceRetry, deps.random),
  });

  if (failed.brokenOff !== undefined) {
    if (hasCode(reason, "handler_timeout")) return counted("handler_timeout", last);
    if (hasCode(reason, "shutting_down")) return shutDown(reason, deps);
    // Not final, and it counts: a handler that blocks the process loses its lock every time.
    return { ...counted("lost_claim", false), message: describeError(reason) };
  }
  if (isPermanentError(failed.error)) return counted("permanent_error", true);
  if (isRetryLater(failed.error)) {
    return counted("handler_failed", last, withinBounds(failed.error.afterMs));
  }
  if (deps.isDatabaseTrouble(failed.error)) {
    return earlierAttempts(claim) < FORGIVEN_MAX
      ? troubled(failed.error, claim, deps)
      : counted("database_unavailable", last);
  }
  const code = codeOf(failed);
  return counted(code, last || code === "body_missing");
}

interface JudgeDeps {
  readonly patience: Pick<DatabasePatience, "delayMs">;
  readonly isDatabaseTrouble: (error: unknown) => boolean;
  readonly random: () => number;
}

function shutDown(reason: unknown, { random }: JudgeDeps): Judgement {
  const afterMs = Math.round(SHUTDOWN_DELAY_MS_MAX * random());
  return {
    code: "shutting_down",
    message: describeError(reason),
    final: false,
    counts: false,
    afterMs,
  };
}

/** Attempts that the policy does not count: those that were given back, and those up to a retry. */
function earlierAttempts({ attempt, attemptSinceRetry }: Claim & { kind: "claimed" }): number {
  return attempt - attemptSinceRetry;
}

function troubled(
  error: unknown,
  claim: Claim & { kind: "claimed" },
  { patience }: JudgeDeps,
): Judgement {
  return {
    code: "database_unavailable",
    message: describeError(error),
    final: false,
    counts: false,
    afterMs: patience.delayMs(earlierAttempts(claim)),
  };
}

/** The ledger's own codes are kept; a handler's errors are `handler_failed` whatever they carry,
 * but for the two that say how it misused its transaction. */
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

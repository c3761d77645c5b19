import {
  isMillraceError,
  isPermanentError,
  isRetryLater,
  waitOf,
  type AttemptFailure,
  type Claim,
  type ErrorCode,
  type SourcePolicy,
} from "@millrace/core";
import { isDatabaseUnavailable } from "@millrace/ledger";
import type { DatabaseRetry } from "./database-retry.ts";
import { describeError } from "../errors/describe-error.ts";
import type { KeptOptions } from "../errors/error-details.ts";
import type { AttemptLog } from "../handler/handler-log.ts";

/** The part of a source's policy that decides about attempts. */
export type AttemptPolicy = Pick<SourcePolicy, "attempts" | "backoff" | "waitMaxMs" | "bodyDedup">;

/** An attempt that was counted in the ledger and is ours to run. */
export type ClaimedAttempt = Claim & { readonly kind: "claimed" };

/** Of a first attempt that was recorded as it ran, or completes without a record. */
export const FIRST_CLAIM: ClaimedAttempt = {
  kind: "claimed",
  attempt: 1,
  attemptSinceRetry: 1,
  waits: 0,
  pendingForMs: 0,
};

/** How an attempt ended that did not complete its event. */
export interface FailedAttempt {
  readonly error: unknown;
  /** True when a handler threw it; false when it came from the ledger. */
  readonly thrownByHandler: boolean;
  /** Why the attempt was broken off, if it was. */
  readonly abortReason: unknown;
  /** What its handlers logged, if they ran. */
  readonly log?: AttemptLog | undefined;
}

/** What follows from a failed attempt. */
export type RetryDecision = Omit<AttemptFailure, "run" | "details">;

interface Deps {
  readonly database: Pick<DatabaseRetry, "delayMs">;
  readonly random: () => number;
  /** Says which secrets no error is to show. */
  readonly kept?: Pick<KeptOptions, "secrets">;
}

const SHUTDOWN_DELAY_MS_MAX = 1_000;
// A wait uses up no attempt, so that a handler which asks for none would run again without end and without a pause.
const WAIT_MS_MIN = 1_000;
// An unavailable Postgres fails an event about once: after that the event is not even recorded. An
// event that fails so often is at fault itself: its handler always deadlocks, or brings Postgres down.
const FORGIVEN_MAX = 50;

/**
 * What a retry does not change: a body that is gone, a replay that waits for a person, a payload or a step that waits for
 * another build, and a chain that has no end. What a handler has committed outside of its transaction, a retry would do twice.
 */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "body_missing",
  "suspected_replay",
  "tx_changed",
  "emit_too_deep",
  "payload_mismatch",
  "step_refused",
]);

/** Codes of what a handler did with its context, and of its schema; whatever else it throws is `handler_failed`. */
const OF_CONTEXT: ReadonlySet<ErrorCode> = new Set([
  "tx_closed",
  "tx_control_refused",
  "emit_refused",
  "emit_too_deep",
  "payload_mismatch",
  "step_refused",
]);

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
    message: describeError(cause, deps.kept?.secrets),
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
        deps,
      );
    }
    // Not final, and it counts: a handler that blocks the process loses its lock every time.
    return counted("lost_claim", false, abortReason);
  }
  if (isPermanentError(error)) return counted("permanent_error", true);
  if (isRetryLater(error)) return decideWait(error, claim, policy, deps);
  if (isDatabaseUnavailable(error)) {
    // Attempts that the policy does not count, without waits: those that were given back, and those before a retry.
    const earlier = claim.attempt - attemptSinceRetry - claim.waits;
    return earlier < FORGIVEN_MAX
      ? givenBack("database_unavailable", error, deps.database.delayMs(earlier), deps)
      : counted("database_unavailable", last);
  }
  const code = codeOf(failed);
  return counted(code, last || FINAL.has(code));
}

/**
 * A handler that asks to wait gets its wait, and at the end of what its source allows one more attempt: a longer wait is cut.
 * When that attempt asks again, the event fails.
 */
function decideWait(
  error: { readonly afterMs: unknown },
  { pendingForMs }: ClaimedAttempt,
  { waitMaxMs }: AttemptPolicy,
  deps: Pick<Deps, "kept">,
): RetryDecision {
  const leftMs = waitMaxMs - pendingForMs;
  const askedMs = Math.max(waitOf(error.afterMs), WAIT_MS_MIN);
  if (leftMs > 0)
    return givenBack("retry_later", error, Math.ceil(Math.min(askedMs, leftMs)), deps);
  return {
    code: "waited_too_long",
    message: `Cannot wait any longer: the event is pending for more than the ${waitMaxMs} ms of waitMaxMs (cause: ${describeError(error, deps.kept?.secrets)})`,
    final: true,
    counts: true,
    afterMs: 0,
  };
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
function givenBack(
  code: ErrorCode,
  cause: unknown,
  afterMs: number,
  { kept }: Pick<Deps, "kept">,
): RetryDecision {
  return {
    code,
    message: describeError(cause, kept?.secrets),
    final: false,
    counts: false,
    afterMs,
  };
}

/** The ledger's own codes are kept. A handler's errors are `handler_failed` whatever they carry, except for those that say
 * how it misused what it was given, or that its schema refused the event. */
function codeOf({ error, thrownByHandler }: FailedAttempt): ErrorCode {
  if (!isMillraceError(error)) return "handler_failed";
  if (!thrownByHandler) return error.code;
  return OF_CONTEXT.has(error.code) ? error.code : "handler_failed";
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return isMillraceError(error) && error.code === code;
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

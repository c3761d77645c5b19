import {
  hasCode,
  isMillraceError,
  isPermanentError,
  isRetryLater,
  waitOf,
  type AttemptFailure,
  type Claim,
  type CopyOf,
  type ErrorCode,
  type JobResult,
  type SourcePolicy,
} from "@millrace/core";
import { isDatabaseUnavailable } from "@millrace/ledger";
import type { DatabaseRetry } from "./database-retry.ts";
import { describeError } from "../errors/describe-error.ts";
import type { AttemptLog } from "../handler/handler-log.ts";

export type AttemptPolicy = Pick<SourcePolicy, "attempts" | "backoff" | "waitMaxMs">;

export type ClaimedAttempt = Claim & { readonly kind: "claimed" };

/** Of a first attempt that was recorded as it ran, or completes without a record. */
export const FIRST_CLAIM: ClaimedAttempt = {
  kind: "claimed",
  attempt: 1,
  attemptSinceRetry: 1,
  waits: 0,
  pendingForMs: 0,
};

export interface FailedAttempt {
  readonly error: unknown;
  readonly thrownByHandler: boolean;
  readonly abortReason: unknown;
  readonly log?: AttemptLog | undefined;
}

/** A failure that no handler threw: the ledger did, or the attempt was broken off. */
export function failedBy(error: unknown, abortReason?: unknown): FailedAttempt {
  return { error, thrownByHandler: false, abortReason };
}

export type RetryDecision = Omit<AttemptFailure, "run" | "details">;

interface Deps {
  readonly database: Pick<DatabaseRetry, "delayMs">;
  readonly random: () => number;
  readonly kept: { readonly secrets: readonly string[] };
}

const SHUTDOWN_DELAY_MS_MAX = 1_000;
const LOST_DELAY_MS = { min: 1_000, max: 5_000 };
// A handler that asks for no wait would run again without end, because a wait uses up no attempt.
const WAIT_MS_MIN = 1_000;
// Postgres fails an event about once per outage; this often, the event deadlocks or crashes it.
const FORGIVEN_MAX = 50;

/** After `tx_changed`, a retry would do twice what was committed outside of the transaction. */
const FINAL: ReadonlySet<ErrorCode> = new Set([
  "body_missing",
  "tx_changed",
  "emit_too_deep",
  "payload_mismatch",
  "step_refused",
]);

/** Codes of a handler's mistakes and of its schema; its other errors are `handler_failed`. */
const OF_CONTEXT: ReadonlySet<ErrorCode> = new Set([
  "tx_closed",
  "tx_control_refused",
  "query_not_awaited",
  "emit_refused",
  "emit_too_deep",
  "payload_mismatch",
  "step_refused",
]);

export function decideRetry(
  failed: FailedAttempt,
  claim: ClaimedAttempt,
  { attempts, backoff, waitMaxMs }: AttemptPolicy,
  { database, random, kept }: Deps,
): RetryDecision {
  const { error, abortReason } = failed;
  const { attemptSinceRetry, pendingForMs } = claim;
  const last = attemptSinceRetry >= attempts;
  const counted = (code: ErrorCode, final: boolean, cause = error): RetryDecision => {
    const afterMs = backoffMs(backoff, attemptSinceRetry, random);
    return { code, message: describeError(cause, kept.secrets), final, counts: true, afterMs };
  };
  const givenBack = (code: ErrorCode, afterMs: number, cause = error): RetryDecision => {
    const message = describeError(cause, kept.secrets);
    return { code, message, final: false, counts: false, afterMs };
  };

  if (abortReason !== undefined) {
    if (hasCode(abortReason, "handler_timeout"))
      return counted("handler_timeout", last, abortReason);
    if (hasCode(abortReason, "shutting_down")) {
      return givenBack("shutting_down", shutdownDelayMs(random), abortReason);
    }
    // Counts and is not final: a handler that blocks the process loses its lock every time.
    return counted("lost_claim", false, abortReason);
  }
  if (isPermanentError(error)) return counted("permanent_error", true);
  if (isRetryLater(error)) {
    const leftMs = waitMaxMs - pendingForMs;
    const askedMs = Math.max(waitOf(error.afterMs), WAIT_MS_MIN);
    if (leftMs > 0) return givenBack("retry_later", Math.ceil(Math.min(askedMs, leftMs)));
    // It asked again past its source's limit, after which it had one more attempt.
    return finalDecision(
      "waited_too_long",
      `Cannot wait any longer: the event is pending for more than the ${waitMaxMs} ms of waitMaxMs (cause: ${describeError(error, kept.secrets)})`,
    );
  }
  if (isDatabaseUnavailable(error)) {
    // Attempts that the policy counts: not waits, not those given back, not those before a retry.
    const earlier = claim.attempt - attemptSinceRetry - claim.waits;
    return earlier < FORGIVEN_MAX
      ? givenBack("database_unavailable", database.delayMs(earlier))
      : counted("database_unavailable", last);
  }
  const code = codeOf(failed);
  return counted(code, last || FINAL.has(code));
}

export function exhausted({ attempts }: AttemptPolicy): RetryDecision {
  return finalDecision(
    "attempts_exhausted",
    `Cannot attempt event: the last of its ${attempts} attempts ended without reporting a result`,
  );
}

export function suspectedReplay({ eventId, type, recordedAtMs }: CopyOf): RetryDecision {
  const first =
    recordedAtMs === undefined
      ? ""
      : ` as ${JSON.stringify(eventId)} of type ${JSON.stringify(type)} at ${new Date(recordedAtMs).toISOString()}`;
  return finalDecision(
    "suspected_replay",
    `Cannot run event: what was signed came before${first}. If both are genuine, retry this event`,
  );
}

function finalDecision(code: ErrorCode, message: string): RetryDecision {
  return { code, message, final: true, counts: true, afterMs: 0 };
}

function codeOf({ error, thrownByHandler }: FailedAttempt): ErrorCode {
  if (!isMillraceError(error)) return "handler_failed";
  if (!thrownByHandler) return error.code;
  return OF_CONTEXT.has(error.code) ? error.code : "handler_failed";
}

/** Full jitter, in milliseconds. @param failures - so far, from 1. @internal */
export function backoffMs(
  policy: SourcePolicy["backoff"],
  failures: number,
  random: () => number,
): number {
  const longest = Math.min(policy.firstMs * policy.factor ** (failures - 1), policy.maxMs);
  return Math.round(longest * random());
}

const shutdownDelayMs = (random: () => number) => Math.round(SHUTDOWN_DELAY_MS_MAX * random());

export function retry(code: ErrorCode, message: string, afterMs: number) {
  return { kind: "retry", afterMs, code, message, recorded: false } as const;
}

/** Runs the job again when the current owner of its event has had time to settle it. */
export function lost(random: () => number): JobResult {
  const { min, max } = LOST_DELAY_MS;
  return { kind: "lost", afterMs: Math.round(min + (max - min) * random()) };
}

export function handedBack(reason: unknown, random: () => number): JobResult {
  const afterMs = shutdownDelayMs(random);
  return hasCode(reason, "shutting_down")
    ? retry(reason.code, reason.message, afterMs)
    : { kind: "lost", afterMs };
}

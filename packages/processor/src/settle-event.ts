import { failpoint, type AttemptFailure, type Claim, type Settlement } from "@millrace/core";
import { attemptEvent } from "./attempt-event.ts";
import type { AttemptPolicy, Context, Task } from "./context.ts";
import { describeError } from "./describe-error.ts";
import { judgeFailure, type Judgement } from "./judge-failure.ts";

/** A settlement, and how long the handlers ran for it. */
export interface Settled {
  readonly settlement: Settlement;
  readonly handlerMs?: number | undefined;
}

type Claimed = Claim & { readonly kind: "claimed" };

const BUSY_DELAY_MS = { min: 1_000, max: 5_000 };
const EXPIRED =
  "Cannot process job: its event was accepted longer ago than identities are kept, and may have been handled";
const BODY_MISSING =
  "Cannot process job: it carries no body, and the ledger does not know the event";

/** Goes on from the ledger's claim: attempts the event when it is ours, and settles the job. */
export async function settleEvent(task: Task, claim: Claim, context: Context): Promise<Settled> {
  if (claim.conflict === true) context.notify({ kind: "conflict", key: task.key });
  switch (claim.kind) {
    case "completed":
      return { settlement: { kind: "duplicate" } };
    case "failed":
      return { settlement: failedBefore(claim) };
    case "busy":
      return { settlement: lost(context) };
    case "body_missing":
      return { settlement: { kind: "failed", code: "body_missing", message: BODY_MISSING } };
    case "identity_expired":
      return { settlement: { kind: "failed", code: "identity_expired", message: EXPIRED } };
    case "claimed":
  }
  return await settleClaimed(task, claim, context);
}

async function settleClaimed(task: Task, claim: Claimed, context: Context): Promise<Settled> {
  const { attempt, attemptSinceRetry } = claim;
  const queueAgeMs = Date.now() - task.job.enqueuedAtMs;
  context.notify({ kind: "claimed", key: task.key, attempt, attemptSinceRetry, queueAgeMs });
  if (attemptSinceRetry > task.policy.attempts) {
    return { settlement: await settleFailure(task, claim, exhausted(task.policy), context) };
  }
  failpoint("worker.recorded");
  const end = await attemptEvent(task, attempt, context);
  const { handlerMs } = end;
  switch (end.kind) {
    case "completed":
      return { settlement: { kind: "completed", outcome: end.outcome }, handlerMs };
    case "lost":
      return { settlement: lost(context), handlerMs };
    case "failed":
  }
  const judgement = judgeFailure(end.failed, claim, task.policy, context);
  return { settlement: await settleFailure(task, claim, judgement, context), handlerMs };
}

/** The attempts before this one died with their workers; this one is not begun. */
function exhausted(policy: AttemptPolicy): Judgement {
  return {
    code: "attempts_exhausted",
    message: `Cannot attempt event: its last of ${policy.attempts} attempts ended without a word`,
    final: true,
    counts: true,
    afterMs: 0,
  };
}

async function settleFailure(
  task: Task,
  { attempt }: Claimed,
  judgement: Judgement,
  context: Context,
): Promise<Settlement> {
  const { afterMs, ...failure } = judgement;
  const { code, message, final, counts } = failure;
  const kept = await recordFailure(task, attempt, { ...failure, run: task.job.run }, context);
  if (kept === "lost") return lost(context);
  context.notify({
    kind: "attempt_failed",
    key: task.key,
    type: task.job.event.type,
    attempt,
    code,
    message,
    final: final && kept === "recorded",
    counts,
  });
  if (code === "lost_claim") return lost(context);
  if (final && kept === "recorded") return failed({ code, message });
  if (kept === "recorded") return { kind: "retry", afterMs, code, message, recorded: true };
  // A last failure has no delay of its own, and what refuses it will not be over in a moment.
  const laterMs = Math.max(afterMs, context.patience.delayMs(0));
  return { kind: "retry", afterMs: laterMs, code, message, recorded: false };
}

async function recordFailure(
  { key, stop }: Task,
  attempt: number,
  failure: AttemptFailure,
  context: Context,
): Promise<"recorded" | "lost" | "unrecorded"> {
  failpoint("worker.before_fail");
  try {
    return await context.patience.persist(() => context.ledger.fail(key, attempt, failure), stop);
  } catch (error) {
    context.notify({ kind: "unrecorded", key, step: "fail", message: describeError(error) });
    return "unrecorded";
  }
}

/** The ledger has the event; unless it says that it cannot hold it, and then the job must. */
function failedBefore(claim: Claim & { kind: "failed" }): Settlement {
  return { ...failed(claim), recorded: claim.code !== "invalid_envelope" };
}

/** Failed in the ledger, which therefore has the body. */
function failed({
  code,
  message,
}: Pick<AttemptFailure, "code" | "message">): Settlement & { kind: "failed" } {
  return { kind: "failed", code, message, recorded: true };
}

function lost({ random }: Context): Settlement {
  const { min, max } = BUSY_DELAY_MS;
  return { kind: "lost", afterMs: Math.round(min + (max - min) * random()) };
}

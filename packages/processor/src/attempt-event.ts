import { isMillraceError, type Outcome } from "@millrace/core";
import { createAttemptSignal } from "./attempt-signal.ts";
import type { Context, Task } from "./context.ts";
import { createHandlerWatch, type HandlerWatch } from "./handler-watch.ts";
import type { FailedAttempt } from "./judge-failure.ts";
import { runHandlers } from "./run-handlers.ts";

/** How one attempt ended, and how long its handlers ran. */
export type AttemptEnd = { readonly handlerMs: number | undefined } & (
  | { readonly kind: "completed"; readonly outcome: Outcome }
  | { readonly kind: "lost" }
  | { readonly kind: "failed"; readonly failed: FailedAttempt }
);

const GRACE_MS = 1_000;

/**
 * Runs the handlers in the event's transaction, once. The handlers' signal aborts when their time
 * is up, when the job's lock is lost, when the processor closes, and when the attempt fails.
 */
export async function attemptEvent(
  task: Task,
  attempt: number,
  context: Context,
): Promise<AttemptEnd> {
  const { job, key, policy, stop } = task;
  const { dispatch, handlerTimeoutMs: timeoutMs } = context;
  const watch = createHandlerWatch(timeoutMs);
  const own = createAttemptSignal([stop]);
  const { signal } = own;
  try {
    const end = await context.ledger.attempt(
      key,
      attempt,
      (tx, locked) =>
        watch.run(own, () => runHandlers({ job, attempt, locked, tx, signal }, dispatch)),
      { timeoutMs, signal, bodyDedup: policy.bodyDedup && canBeReplayed(task) },
    );
    const { outcome, ranMs: handlerMs } = watch;
    if (end === "lost" || outcome === undefined) return { kind: "lost", handlerMs };
    return { kind: "completed", outcome, handlerMs };
  } catch (error) {
    const failed = failedAttempt(error, watch, signal);
    own.abort(error);
    reportIfItGoesOn(task, attempt, watch, context);
    return { kind: "failed", failed, handlerMs: watch.ranMs };
  } finally {
    own.dispose();
    watch.stop();
  }
}

/** An id that nobody signed can be made up for a body that was; a replay of ours is asked for. */
function canBeReplayed({ job, key }: Task): boolean {
  return job.event.unsigned && key.generation === 0;
}

function failedAttempt(error: unknown, watch: HandlerWatch, signal: AbortSignal): FailedAttempt {
  if (watch.thrown !== undefined && watch.thrown.error === error) {
    return { error, thrownByHandler: true, brokenOff: watch.thrown.brokenOff };
  }
  // The ledger keeps the time as well, for a COMMIT that never answers.
  const timedOut = isMillraceError(error) && error.code === "handler_timeout";
  const brokenOff: unknown = signal.aborted ? signal.reason : timedOut ? error : undefined;
  return { error, thrownByHandler: false, brokenOff };
}

// Its transaction is sealed and its slot is free, so it holds up nobody; but it may hold much else.
function reportIfItGoesOn(
  { key }: Task,
  attempt: number,
  watch: HandlerWatch,
  context: Context,
): void {
  if (!watch.isRunning) return;
  setTimeout(() => {
    if (watch.isRunning) context.notify({ kind: "handler_ignored_abort", key, attempt });
  }, GRACE_MS).unref();
}

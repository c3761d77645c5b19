import { isMillraceError, type Claim, type QueuedEvent, type Settlement } from "@millrace/core";
import type { Context, Task } from "./context.ts";
import { describeError } from "./describe-error.ts";

const RESTART_DELAY_MS_MAX = 1_000;
// An error that is not the database's is not over in a moment.
const UNEXPECTED_REPEATS = 4;

/** Records the job and gives its claim; or how the job is settled when that could not be done. */
export async function claimEvent(
  { job, key, stop }: Task,
  recorder: { add(job: QueuedEvent): Promise<Claim> },
  context: Context,
): Promise<{ readonly claim: Claim } | { readonly settlement: Settlement }> {
  try {
    return { claim: await context.patience.persist(() => recorder.add(job), stop) };
  } catch (error) {
    const message = describeError(error);
    context.notify({ kind: "unrecorded", key, step: "record", message });
    if (stop.aborted) return { settlement: notBegun(stop, context) };
    const isTrouble = context.isDatabaseTrouble(error);
    const code = isTrouble ? "database_unavailable" : "internal";
    const afterMs = context.patience.delayMs(isTrouble ? 0 : UNEXPECTED_REPEATS);
    return { settlement: { kind: "retry", afterMs, code, message, recorded: false } };
  }
}

/** How a job is settled that was stopped before its event was claimed. */
export function notBegun(stop: AbortSignal, { random }: Pick<Context, "random">): Settlement {
  const reason: unknown = stop.reason;
  const afterMs = Math.round(RESTART_DELAY_MS_MAX * random());
  if (!isMillraceError(reason) || reason.code !== "shutting_down") return { kind: "lost", afterMs };
  const { code, message } = reason;
  return { kind: "retry", afterMs, code, message, recorded: false };
}

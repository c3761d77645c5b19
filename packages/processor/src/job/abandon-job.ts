import type { EventJob, EventKey, JobResult } from "@millrace/core";
import { isDatabaseUnavailable, type Ledger } from "@millrace/ledger";
import { checkJob } from "./check-job.ts";
import type { FailureHook } from "./failure-hook.ts";

const LEDGER_UNAVAILABLE_DELAY_MS = 5_000;

/**
 * Fails in the ledger what the worker fails without an attempt, if the ledger knows the event: a
 * person may have edited the job's data. A replay that the ledger has lost is recorded as failed, and so is an event
 * whose body it has lost. While the ledger is unavailable, the job is retried.
 */
export async function failUnattempted(
  job: EventJob,
  result: JobResult & { readonly kind: "failed" },
  ledger: Pick<Ledger["claims"], "abandonEvent">,
): Promise<JobResult> {
  const { code, message } = result;
  try {
    const event = code === "body_lost" ? job.event : keyOf(job);
    await ledger.abandonEvent(event, { code, message, run: job.run });
    return result;
  } catch (error) {
    // An id that Postgres cannot hold is not in the ledger either.
    if (!isDatabaseUnavailable(error)) return result;
    const afterMs = LEDGER_UNAVAILABLE_DELAY_MS;
    return { kind: "retry", afterMs, code, message, recorded: false };
  }
}

interface AbandonDeps {
  readonly ledger: Pick<Ledger["claims"], "abandonEvent" | "findEvent">;
  readonly hook: Pick<FailureHook, "call"> | undefined;
}

/**
 * Fails in the ledger a job that BullMQ has failed without running it. The event of a job that has no valid MAC or
 * does not pass the checks is not recorded.
 */
export async function abandonJob(job: EventJob, reason: string, deps: AbandonDeps): Promise<void> {
  const key = keyOf(job);
  const isSound = job.mac === undefined && checkJob(job) === undefined;
  const event = isSound ? job.event : key;
  const answer = await deps.ledger.abandonEvent(event, {
    code: "gave_up",
    message: reason,
    run: job.run,
  });
  if (answer === "failed") await reportAbandoned(key, job.event.type, reason, deps);
}

/** Calls the user's `onFailed` for an event that failed without an attempt. */
export async function reportAbandoned(
  key: EventKey,
  type: string,
  message: string,
  {
    ledger,
    hook,
  }: { readonly ledger: Pick<Ledger["claims"], "findEvent"> } & Pick<AbandonDeps, "hook">,
): Promise<void> {
  if (hook === undefined) return;
  const found = await ledger.findEvent(key);
  const attempts = found?.event.attempts ?? 0;
  hook.call({ ...key, type, attempts, code: "gave_up", message });
}

function keyOf({ event: { source, eventId, generation } }: EventJob): EventKey {
  return { source, eventId, generation };
}

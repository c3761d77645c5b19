import {
  keyOf,
  settlesWithin,
  type EventJob,
  type EventKey,
  type FailedEvent,
  type JobResult,
  type OnFailed,
} from "@millrace/core";
import { isDatabaseUnavailable, type Ledger } from "@millrace/ledger";
import { retry } from "./retry-policy.ts";
import { checkJob } from "./trust-job.ts";

const LEDGER_UNAVAILABLE_DELAY_MS = 5_000;

/**
 * Fails an event without an attempt, if the ledger knows it: the job may be edited. A lost replay
 * or body is recorded as failed. While the ledger is unavailable, the job is retried.
 */
export async function failUnattempted(
  job: EventJob,
  result: JobResult & { readonly kind: "failed" },
  ledger: Pick<Ledger["claims"], "abandonEvent">,
): Promise<JobResult> {
  const { code, message } = result;
  try {
    const event = code === "body_lost" ? job.event : keyOf(job.event);
    await ledger.abandonEvent(event, { code, message, run: job.run });
    return result;
  } catch (error) {
    // An id that Postgres cannot hold is not in the ledger either.
    if (!isDatabaseUnavailable(error)) return result;
    return retry(code, message, LEDGER_UNAVAILABLE_DELAY_MS);
  }
}

interface AbandonDeps {
  readonly ledger: Pick<Ledger["claims"], "abandonEvent" | "findEvent">;
  readonly hook: Pick<FailureHook, "call"> | undefined;
}

/** An event is recorded only if its job has a valid MAC and passes the checks. */
export async function abandonJob(job: EventJob, reason: string, deps: AbandonDeps): Promise<void> {
  const key = keyOf(job.event);
  const isSound = job.mac === undefined && checkJob(job) === undefined;
  const event = isSound ? job.event : key;
  const failure = { code: "gave_up", message: reason, run: job.run } as const;
  const answer = await deps.ledger.abandonEvent(event, failure);
  if (answer === "failed") await reportAbandoned(key, job.event.type, reason, deps);
}

export async function reportAbandoned(
  key: EventKey,
  type: string,
  message: string,
  { ledger, hook }: AbandonDeps,
): Promise<void> {
  if (hook === undefined) return;
  const found = await ledger.findEvent(key);
  const attempts = found?.event.attempts ?? 0;
  hook.call({ ...key, type, attempts, code: "gave_up", message });
}

const CLOSE_MS = 3_000;

export type FailureHook = ReturnType<typeof createFailureHook>;

/** Calls a user's `onFailed` so that its errors are reported and it delays no event. */
export function createFailureHook(onFailed: OnFailed, onError: (error: unknown) => void) {
  const inProgress = new Set<Promise<void>>();
  const run = async (event: FailedEvent) => await onFailed(event);
  return {
    call(event: FailedEvent): void {
      const called = run(event).catch(onError);
      inProgress.add(called);
      void called.finally(() => inProgress.delete(called));
    },
    async close(): Promise<void> {
      await settlesWithin(Promise.all(inProgress), CLOSE_MS);
    },
  };
}

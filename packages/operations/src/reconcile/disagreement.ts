import type { EventIdentity, Standing } from "@millrace/ledger";
import type { JobGlance } from "@millrace/queue";

/**
 * What ledger and queue can disagree on, and what is done about it. Everything that is not here is as it
 * should be: a job on its way for a pending event; any job of a completed one; a job on its way for a
 * failed one, which is a retry.
 */
export const DISAGREEMENTS = {
  pending_without_job: {
    ledger: "pending",
    job: "none",
    act: "the job is added when its queue has room",
  },
  pending_job_failed: {
    ledger: "pending",
    job: "failed since",
    act: "the event is failed in the ledger",
  },
  pending_retry_unfinished: {
    ledger: "pending",
    job: "failed before",
    act: "the job is retried",
  },
  pending_job_completed: {
    ledger: "pending",
    job: "completed",
    act: "the job runs again",
  },
  unrecorded_job_failed: {
    ledger: "none",
    job: "failed",
    act: "the event is recorded as failed, with the job's body",
  },
  unrecorded_job_completed: {
    ledger: "none",
    job: "completed",
    act: "nothing: it may have run, so look into it",
  },
} as const;

export type DisagreementKind = keyof typeof DISAGREEMENTS;

/** In the order of the table. */
export const DISAGREEMENT_KINDS = Object.keys(DISAGREEMENTS) as readonly DisagreementKind[];

/** One event on which ledger and queue disagree. */
export interface Disagreement {
  readonly kind: DisagreementKind;
  readonly event: EventIdentity;
  /** How its job ended, if it did. */
  readonly end: { readonly run: string; readonly failedReason: string | undefined } | undefined;
  /** Whether the ledger has it that the job was on the queue. */
  readonly placed: boolean;
}

/** Compares an event with its job; undefined when they agree. */
export function disagreementOf(
  row: Pick<Standing, "status" | "placed" | "pendingSinceMs"> | undefined,
  job: JobGlance | undefined,
): DisagreementKind | undefined {
  if (job?.state === "live") return undefined;
  if (row === undefined) return job && `unrecorded_job_${job.state}`;
  if (row.status !== "pending") return undefined;
  if (job === undefined) return "pending_without_job";
  if (job.state === "completed") return "pending_job_completed";
  // A retry unmarks the event and marks it when its job waits: a marked event's job has failed since,
  // whatever the clocks of the two say.
  const hasFailedSince = row.placed || job.finishedAtMs >= row.pendingSinceMs;
  return hasFailedSince ? "pending_job_failed" : "pending_retry_unfinished";
}

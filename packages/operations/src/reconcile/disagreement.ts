import type { DisagreementKind } from "@millrace/api-contract";
import type { EnvelopedEvent, EventKey } from "@millrace/core";
import type { LedgerStatus } from "@millrace/ledger";
import type { JobStatus } from "@millrace/queue";

/**
 * What ledger and queue can disagree on, and what is done about it. Every other pair is in
 * order: a job on its way for a pending event; any job of a completed one; a job on its way for a
 * failed one, which is a retry.
 */
export const DISAGREEMENTS: Readonly<
  Record<DisagreementKind, { readonly ledger: string; readonly job: string; readonly act: string }>
> = {
  pending_without_job: {
    ledger: "pending",
    job: "none",
    act: "the job is added when its queue has capacity",
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
};

/** In the order of the table. */
export const DISAGREEMENT_KINDS = Object.keys(DISAGREEMENTS) as readonly DisagreementKind[];

/** One event on which ledger and queue disagree. */
export interface Disagreement {
  readonly kind: DisagreementKind;
  readonly event: EnvelopedEvent;
  /** How its job ended, if it did. */
  readonly end: { readonly run: string; readonly failedReason: string | undefined } | undefined;
  /** Whether the ledger knows the event to be enqueued. */
  readonly enqueued: boolean;
}

/** Compares an event with its job; undefined when they agree. */
export function disagreementOf(
  row: Pick<LedgerStatus, "status" | "enqueued" | "pendingSinceMs"> | undefined,
  job: JobStatus | undefined,
): DisagreementKind | undefined {
  if (job?.state === "live") return undefined;
  if (row === undefined) return job && `unrecorded_job_${job.state}`;
  if (row.status !== "pending") return undefined;
  if (job === undefined) return "pending_without_job";
  if (job.state === "completed") return "pending_job_completed";
  // A retry unmarks the event and marks it when its job waits: the job of a marked event has failed since,
  // whatever the clocks of the two say.
  const hasFailedSince = row.enqueued || job.finishedAtMs >= row.pendingSinceMs;
  return hasFailedSince ? "pending_job_failed" : "pending_retry_unfinished";
}

/** The disagreements of one kind. */
export interface Found {
  readonly count: number;
  /** The first few. */
  readonly examples: readonly DisagreementExample[];
}

interface DisagreementExample extends EventKey {
  /** Why its job failed, if it did. */
  readonly detail: string | undefined;
}

export interface Counts {
  add(found: readonly Disagreement[]): void;
  readonly found: ReadonlyMap<DisagreementKind, Found>;
}

/** Counts disagreements by kind, and keeps a few of each as examples. */
export function createCounts(examplesMax: number): Counts {
  const found = new Map<DisagreementKind, Found>();
  return {
    found,
    add: (more) => {
      for (const { kind, event, end } of more) {
        const { count, examples } = found.get(kind) ?? { count: 0, examples: [] };
        const { source, eventId, generation } = event;
        const example = { source, eventId, generation, detail: end?.failedReason };
        found.set(kind, {
          count: count + 1,
          examples: examples.length < examplesMax ? [...examples, example] : examples,
        });
      }
    },
  };
}

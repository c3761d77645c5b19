import type { DisagreementKind } from "@millrace/api-contract";
import type { EnvelopedEvent, EventKey } from "@millrace/core";
import type { LedgerStatus } from "@millrace/ledger";
import type { JobProblem, JobStatus } from "@millrace/queue";

/**
 * What ledger and queue can disagree on, and what is done about it. Every other pair is in
 * order: a job on its way for a pending event, and for a failed one, which is a retry; a job on its way, completed, or
 * gone for a completed one. An event is completed before its job is, so one whose job has completed and that the
 * ledger does not have as completed was undone with Postgres.
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
  failed_job_completed: {
    ledger: "failed",
    job: "completed",
    act: "the job runs again",
  },
  completed_job_failed: {
    ledger: "completed",
    job: "failed",
    act: "the job is retried, and completes without running a handler",
  },
  unrecorded_job_failed: {
    ledger: "none",
    job: "failed",
    act: "the event is recorded as failed, with the job's body if it has one",
  },
  unrecorded_job_undone: {
    ledger: "none, since Postgres was restored, failed over, or restarted",
    job: "completed",
    act: "the job runs again; without a body, the event is recorded as failed",
  },
  unrecorded_job_completed: {
    ledger: "none",
    job: "completed",
    act: "nothing: it may have run, so look into it",
  },
  unrecorded_job_unsigned: {
    ledger: "none",
    job: "failed or completed, without a valid MAC",
    act: "nothing: Millrace may not have written it, so look into it",
  },
  unreadable_job: {
    ledger: "not looked up",
    job: "ended, and it cannot be read",
    act: "nothing: find out who can write to the queue, and remove the job",
  },
};

/** In the order of the table. */
export const DISAGREEMENT_KINDS = Object.keys(DISAGREEMENTS) as readonly DisagreementKind[];

/** An event on which ledger and queue disagree, or a job that cannot be compared. */
export type Disagreement = EventDisagreement | UnreadableJob;

/** A kind of which the event is known. */
export type EventDisagreementKind = Exclude<DisagreementKind, UnreadableJob["kind"]>;

/** One event on which ledger and queue disagree. */
export interface EventDisagreement {
  readonly kind: EventDisagreementKind;
  readonly event: EnvelopedEvent;
  /** How its job ended, if it did. */
  readonly end: { readonly run: string; readonly failedReason: string | undefined } | undefined;
  /** Whether the ledger knows the event to be enqueued. */
  readonly enqueued: boolean;
  /** Milliseconds until its next attempt is due; nothing when it is. */
  readonly dueInMs?: number | undefined;
}

/** A job that has ended, and of which nobody can say what event it is, or look that event up. */
export interface UnreadableJob {
  readonly kind: "unreadable_job";
  readonly source: string;
  readonly jobId: string;
  /** Why. It quotes nothing of what the job says. */
  readonly problem: JobProblem;
}

/** Compares an event with its job; undefined when they agree. */
export function disagreementOf(
  row: Pick<LedgerStatus, "status" | "errorCode" | "enqueued" | "pendingSinceMs"> | undefined,
  job: JobStatus | undefined,
): EventDisagreementKind | undefined {
  if (job?.state === "live") return undefined;
  if (row === undefined) return job && `unrecorded_job_${job.state}`;
  if (row.status === "failed" && job?.state === "completed") {
    // Without a body there is nothing to run, until its sender delivers it again.
    return row.errorCode === "body_lost" ? undefined : "failed_job_completed";
  }
  // An older copy of Redis brings such a job back, or the queue gave up on a job whose worker then completed it.
  if (row.status === "completed" && job?.state === "failed") return "completed_job_failed";
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

/** The event, or of a job that cannot be read the job. */
export interface DisagreementExample {
  readonly source: string;
  readonly event: Pick<EventKey, "eventId" | "generation"> | undefined;
  readonly jobId: string | undefined;
  /** Why its job failed, if it did, or cannot be read. */
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
      for (const one of more) {
        const { count, examples } = found.get(one.kind) ?? { count: 0, examples: [] };
        found.set(one.kind, {
          count: count + 1,
          examples: examples.length < examplesMax ? [...examples, toExample(one)] : examples,
        });
      }
    },
  };
}

/** What was found of different sources, together. */
export function addFound(
  one: ReadonlyMap<DisagreementKind, Found>,
  other: ReadonlyMap<DisagreementKind, Found>,
  examplesMax: number,
): ReadonlyMap<DisagreementKind, Found> {
  return addByKind(one, other, (a, b) => ({
    count: a.count + b.count,
    examples: [...a.examples, ...b.examples].slice(0, examplesMax),
  }));
}

export function addByKind<T>(
  one: ReadonlyMap<DisagreementKind, T>,
  other: ReadonlyMap<DisagreementKind, T>,
  add: (a: T, b: T) => T,
): ReadonlyMap<DisagreementKind, T> {
  const sum = new Map(one);
  for (const [kind, value] of other) {
    const before = sum.get(kind);
    sum.set(kind, before === undefined ? value : add(before, value));
  }
  return sum;
}

/** Characters of a job's id that are shown. Ours have 150 at most. */
const JOB_ID_CHARS_MAX = 200;

function toExample(one: Disagreement): DisagreementExample {
  if (one.kind === "unreadable_job") {
    const { source, jobId, problem } = one;
    const detail = `${problem.code}: ${problem.message}`;
    return { source, event: undefined, jobId: jobId.slice(0, JOB_ID_CHARS_MAX), detail };
  }
  const { source, eventId, generation } = one.event;
  const detail = one.end?.failedReason;
  return { source, event: { eventId, generation }, jobId: undefined, detail };
}

import { DISAGREEMENT_KINDS, type DisagreementKind } from "@millrace/api-contract";
import { asError, hasCode, type EnvelopedEvent, type EventKey } from "@millrace/core";
import type { AbandonAnswer, LedgerStatus } from "@millrace/ledger";
import type { JobStatus } from "@millrace/queue";
import pMap from "p-map";
import { enqueuePending, requeueJobs, withoutBody } from "../requeue.ts";
import type { Capacity } from "./capacity.ts";
import type {
  CompareDeps,
  Disagreement,
  EventDisagreement,
  EventDisagreementKind,
} from "./disagreement.ts";

export interface RepairDeps extends CompareDeps {
  readonly capacity: Capacity;
  /** Jobs in one call, whose answers must come within the queue's deadline. */
  readonly jobsMax: number;
  readonly notify: (notice: AbandonNotice) => void;
}

export interface AbandonNotice {
  readonly kind: "job_abandoned";
  readonly event: EnvelopedEvent;
  readonly reason: string;
}

interface DisagreementRow {
  readonly ledger: string;
  readonly job: string;
  readonly act: string;
  readonly match?: (row: Row | undefined, job: EndedJob | undefined) => boolean;
  /** Returns the number of repairs; the rest is found again. */
  readonly repair?: (deps: RepairDeps, found: readonly EventDisagreement[]) => Promise<number>;
}

type Row = Pick<LedgerStatus, "status" | "errorCode" | "enqueued" | "pendingSinceMs">;
type EndedJob = Exclude<JobStatus, { state: "live" }>;

/**
 * Every other pair is in order: a live job of a pending or failed event; a live, completed, or
 * removed job of a completed event, which completes before its job.
 */
export const DISAGREEMENTS: Readonly<Record<DisagreementKind, DisagreementRow>> = {
  pending_without_job: {
    ledger: "pending",
    job: "none",
    act: "the job is added when its queue has capacity",
    match: (row, job) => row?.status === "pending" && job === undefined,
    repair: addJobs,
  },
  pending_job_failed: {
    ledger: "pending",
    job: "failed since",
    act: "the event is failed in the ledger",
    match: (row, job) => isPendingFailed(row, job) && hasFailedSince(row, job),
    repair: failEvents,
  },
  pending_retry_unfinished: {
    ledger: "pending",
    job: "failed before",
    act: "the job is retried",
    match: (row, job) => isPendingFailed(row, job) && !hasFailedSince(row, job),
    repair: requeue,
  },
  pending_job_completed: {
    ledger: "pending",
    job: "completed",
    act: "the job runs again",
    match: (row, job) => row?.status === "pending" && job?.state === "completed",
    repair: requeue,
  },
  failed_job_completed: {
    ledger: "failed",
    job: "completed",
    act: "the job runs again",
    // Without a body there is nothing to run, until its sender delivers it again.
    match: (row, job) =>
      row?.status === "failed" && job?.state === "completed" && row.errorCode !== "body_lost",
    repair: requeue,
  },
  completed_job_failed: {
    ledger: "completed",
    job: "failed",
    act: "the job is retried, and completes without running a handler",
    // An older copy of Redis has such a job; so has a queue that failed the job of a live worker.
    match: (row, job) => row?.status === "completed" && job?.state === "failed",
    repair: completeJobs,
  },
  unrecorded_job_failed: {
    ledger: "none",
    job: "failed",
    act: "the event is recorded as failed, with the job's body if it has one",
    match: (row, job) => row === undefined && job?.state === "failed",
    repair: recordFailed,
  },
  unrecorded_job_undone: {
    ledger: "none, since Postgres was restored, failed over, or restarted",
    job: "completed",
    act: "the job runs again; without a body, the event is recorded as failed",
    repair: runUndone,
  },
  unrecorded_job_completed: {
    ledger: "none",
    job: "completed",
    act: "nothing: it may have run, so look into it",
    match: (row, job) => row === undefined && job?.state === "completed",
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

export function disagreementOf(
  row: Row | undefined,
  job: JobStatus | undefined,
): EventDisagreementKind | undefined {
  if (job?.state === "live") return undefined;
  return MATCHED.find((kind) => DISAGREEMENTS[kind].match?.(row, job));
}

const MATCHED = DISAGREEMENT_KINDS.filter((kind) => kind !== "unreadable_job");

function isPendingFailed(row: Row | undefined, job: EndedJob | undefined): boolean {
  return row?.status === "pending" && job?.state === "failed";
}

/** A retry marks the event when its job waits: a marked one has failed since, by any clock. */
function hasFailedSince(row: Row | undefined, job: EndedJob | undefined): boolean {
  if (row === undefined || job === undefined) return false;
  return row.enqueued || job.finishedAtMs >= row.pendingSinceMs;
}

const CONCURRENCY = 8;
const RERUN_CONCURRENCY = 64;

/** Returns how many of each kind it repaired. Two reconcilers at once do no harm. */
export async function repair(
  deps: RepairDeps,
  found: readonly Disagreement[],
): Promise<ReadonlyMap<EventDisagreementKind, number>> {
  const readable = found.filter((one) => one.kind !== "unreadable_job");
  const repaired = new Map<EventDisagreementKind, number>();
  for (const kind of new Set(readable.map((one) => one.kind))) {
    const same = readable.filter((one) => one.kind === kind);
    repaired.set(kind, (await DISAGREEMENTS[kind].repair?.(deps, same)) ?? 0);
  }
  return repaired;
}

/** Unmarks events that get no job, for the next pass. @throws `unavailable` from the queue */
async function addJobs(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  const { ledger, queues, capacity, jobsMax } = deps;
  const chosen: EventDisagreement[] = [];
  const left: EventDisagreement[] = [];
  for (const one of found) (capacity.take(one.event.source) ? chosen : left).push(one);
  const added: EventDisagreement[] = [];
  let failure: Error | undefined;
  for (let at = 0; at < chosen.length && failure === undefined; at += jobsMax) {
    const chunk = chosen.slice(at, at + jobsMax);
    const events = eventsOf(chunk).map(withoutBody);
    const delaysMs = chunk.map(({ dueInMs }) => dueInMs ?? 0);
    const results = await queues.enqueue(events, { identityOnly: true, delaysMs });
    for (const [index, one] of chunk.entries()) {
      (results[index] instanceof Error ? left : added).push(one);
    }
    failure = results.find((result) => hasCode(result, "unavailable"));
    if (failure !== undefined) left.push(...chosen.slice(at + jobsMax));
  }
  await ledger.repair.markEnqueued(eventsOf(added.filter(({ enqueued }) => !enqueued)));
  await ledger.repair.unmarkEnqueued(eventsOf(left.filter(({ enqueued }) => enqueued)));
  if (failure !== undefined) throw failure;
  return added.length;
}

const eventsOf = (found: readonly EventDisagreement[]) => found.map(({ event }) => event);

/** The queue abandoned the job, and no worker could record that in the ledger. */
function failEvents(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  return repairEach(found, CONCURRENCY, ({ event, end }) =>
    failEvent(deps, event, { code: "gave_up", end }),
  );
}

async function repairEach(
  found: readonly EventDisagreement[],
  concurrency: number,
  work: (one: EventDisagreement) => Promise<string>,
): Promise<number> {
  const answers = await pMap(found, (one) => work(one).catch(asError), { concurrency });
  return answers.filter((answer) => answer === "failed" || answer === "retried").length;
}

/** The worker died before it could record the event, and the queue abandoned its job. */
function recordFailed(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  return repairEach(found, CONCURRENCY, async ({ event, end }) => {
    const job = await findSoundJob(deps, event);
    if (job?.state !== "failed") return "gone";
    return await failEvent(deps, job.event, {
      code: codeOf(job.event, deps.queues.signsJobs),
      end,
    });
  });
}

/** The job as it is now, if its MAC is valid: it may have been edited since. */
async function findSoundJob({ queues, isSound }: RepairDeps, key: EventKey) {
  const job = await queues.findJob(key);
  if (job?.event === undefined || job.mac !== undefined) return undefined;
  return isSound(job.event) ? { ...job, event: job.event } : undefined;
}

/** Postgres has lost the commit of the event's row and effects, so the job's body runs again. */
function runUndone(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  return repairEach(found, RERUN_CONCURRENCY, async ({ event }) => {
    const job = await findSoundJob(deps, event);
    if (job?.state !== "completed") return "gone";
    if (job.event.body === undefined && job.event.generation === 0) {
      const end = { run: job.run, failedReason: BODY_LOST };
      return await failEvent(deps, job.event, { code: "body_lost", end });
    }
    // The worker refuses a replay that the ledger does not have, and records it as failed.
    return await deps.queues.rerunJob(event);
  });
}

const BODY_LOST = "Cannot run the event again: Postgres has lost it, and its job carries no body";

/** A job without a body was written when the ledger had the event. */
function codeOf({ body, generation }: EnvelopedEvent, signsJobs: boolean): AbandonCode {
  if (generation > 0) return signsJobs ? "replay_lost" : "gave_up";
  return body === undefined ? "body_lost" : "gave_up";
}

type AbandonCode = "gave_up" | "replay_lost" | "body_lost";

async function failEvent(
  { ledger, notify }: RepairDeps,
  event: EnvelopedEvent,
  { code, end }: { code: AbandonCode; end: EventDisagreement["end"] },
): Promise<AbandonAnswer> {
  const message = end?.failedReason ?? "the queue gave the job up";
  const reason = { code, message, run: end?.run ?? "" };
  const answer = await ledger.repair.abandonEvent(event, reason);
  if (answer === "failed") notify({ kind: "job_abandoned", event, reason: message });
  return answer;
}

/** A worker finds the event completed, and completes the job. */
function completeJobs(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  return repairEach(found, RERUN_CONCURRENCY, async ({ event }) => {
    const job = await findSoundJob(deps, event);
    return job === undefined ? "gone" : await deps.queues.retryJob(event);
  });
}

/** A retry that died half-way, or a job that completed without its event: it waits again. */
async function requeue(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  const jobs = await enqueuePending(deps, eventsOf(found), requeueJobs);
  return jobs.filter((job) => job === "requeued").length;
}

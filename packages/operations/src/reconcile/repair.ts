import { isMillraceError, type EnvelopedEvent, type StoreResult } from "@millrace/core";
import type { AbandonAnswer, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { mapConcurrent } from "../map-concurrent.ts";
import { requeueJobs, withoutBody } from "../requeue.ts";
import type { Capacity } from "./capacity.ts";
import type { CompareDeps } from "./compare.ts";
import type { EventDisagreement, EventDisagreementKind, Disagreement } from "./disagreement.ts";

/** What it takes to make ledger and queues agree. */
export interface RepairDeps extends Pick<CompareDeps, "isSound"> {
  readonly ledger: Pick<Ledger, "repair">;
  readonly queues: Pick<
    Queues,
    "enqueue" | "retryJob" | "rerunJob" | "removeJob" | "findJob" | "signsJobs"
  >;
  readonly capacity: Capacity;
  /** Jobs in one call, whose answers must come within the queue's deadline. */
  readonly jobsMax: number;
  /** Called for each event that the reconciler has failed for good. */
  readonly onAbandoned: (event: EnvelopedEvent, reason: string) => void;
}

type Repair = (deps: RepairDeps, found: readonly EventDisagreement[]) => Promise<number>;

/** What is done about each kind; returns how many were repaired. What was not is found again. */
const REPAIRS: Record<EventDisagreementKind, Repair> = {
  pending_without_job: addJobs,
  pending_job_failed: failEvents,
  pending_retry_unfinished: requeue,
  pending_job_completed: requeue,
  failed_job_completed: requeue,
  completed_job_failed: completeJobs,
  unrecorded_job_failed: recordFailed,
  unrecorded_job_undone: runUndone,
  unrecorded_job_completed: async () => 0,
  unrecorded_job_unsigned: async () => 0,
};

/** Disagreements that are repaired one by one are repaired this many at a time. */
const CONCURRENCY = 8;
/** Jobs that run again share a connection, and their round trips. */
const RERUN_CONCURRENCY = 64;

/**
 * Makes ledger and queue agree again on what was found; returns how many of each kind. No attempt is
 * counted, and nothing is done twice: two reconcilers at once, or one and a person's retry, end where
 * one of them would have.
 */
export async function repair(
  deps: RepairDeps,
  found: readonly Disagreement[],
): Promise<ReadonlyMap<EventDisagreementKind, number>> {
  const byKind = new Map<EventDisagreementKind, EventDisagreement[]>();
  for (const one of found) {
    if (one.kind === "unreadable_job") continue;
    const same = byKind.get(one.kind);
    if (same === undefined) byKind.set(one.kind, [one]);
    else same.push(one);
  }
  const repaired = new Map<EventDisagreementKind, number>();
  for (const [kind, same] of byKind) repaired.set(kind, await REPAIRS[kind](deps, same));
  return repaired;
}

/**
 * Adds the jobs of events that have none, as far as their queues have capacity. The ledger has the bodies,
 * so a job carries the identity alone, and waits for as long as the event's next attempt is not due. An event that gets none is noted as not enqueued in the ledger,
 * so that the next pass comes back to it.
 *
 * @throws `unavailable` when the queue takes no job at all.
 */
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
    failure = results.find(isUnavailable);
    if (failure !== undefined) left.push(...chosen.slice(at + jobsMax));
  }
  await ledger.repair.markEnqueued(eventsOf(added.filter(({ enqueued }) => !enqueued)));
  await ledger.repair.unmarkEnqueued(eventsOf(left.filter(({ enqueued }) => enqueued)));
  if (failure !== undefined) throw failure;
  return added.length;
}

function isUnavailable(result: StoreResult): result is Error {
  return isMillraceError(result) && result.code === "unavailable";
}

const eventsOf = (found: readonly EventDisagreement[]) => found.map(({ event }) => event);

/** The queue abandoned the job, and no worker could tell the ledger. */
async function failEvents(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  const answers = await mapConcurrent(found, CONCURRENCY, ({ event, end }) =>
    failEvent(deps, event, { code: "gave_up", end }),
  );
  return count(answers, "failed");
}

/**
 * The worker died before it could record the event, and the queue abandoned its job. A replay begins in the ledger,
 * so one that is not there was lost.
 */
async function recordFailed(
  deps: RepairDeps,
  found: readonly EventDisagreement[],
): Promise<number> {
  const answers = await mapConcurrent(found, CONCURRENCY, async ({ event, end }) => {
    const { queues, isSound } = deps;
    // As it is now: somebody may have edited it since.
    const job = await queues.findJob(event);
    if (job?.state !== "failed" || job.event === undefined || job.mac !== undefined) return "gone";
    if (!isSound(job.event)) return "gone";
    return await failEvent(deps, job.event, { code: codeOf(job.event, queues), end });
  });
  return count(answers, "failed");
}

/**
 * The event had completed, and Postgres has lost that: its row, status, and effects were one commit, so that nothing of
 * it is there. The job's body is run. Where only the ledger had the body, its sender must deliver it again.
 */
async function runUndone(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  const { queues, isSound } = deps;
  const answers = await mapConcurrent(found, RERUN_CONCURRENCY, async ({ event }) => {
    // As it is now, and its MAC over the whole of it.
    const job = await queues.findJob(event);
    if (job?.state !== "completed" || job.event === undefined || job.mac !== undefined)
      return "gone";
    if (!isSound(job.event)) return "gone";
    if (job.event.body === undefined && job.event.generation === 0) {
      const end = { run: job.run, failedReason: BODY_LOST };
      return await failEvent(deps, job.event, { code: "body_lost", end });
    }
    // The worker refuses a replay that the ledger does not have, and records it as failed.
    return await queues.rerunJob(event);
  });
  return count(answers, "retried") + count(answers, "failed");
}

const BODY_LOST = "Cannot run the event again: Postgres has lost it, and its job carries no body";

/** Why an event that no worker could record fails: a job without a body was written when the ledger had it. */
function codeOf(
  { body, generation }: EnvelopedEvent,
  { signsJobs }: Pick<Queues, "signsJobs">,
): AbandonCode {
  if (generation > 0) return signsJobs ? "replay_lost" : "gave_up";
  return body === undefined ? "body_lost" : "gave_up";
}

type AbandonCode = "gave_up" | "replay_lost" | "body_lost";

/** Fails an event in the ledger; one that the ledger does not know is recorded first, if it has its body. */
async function failEvent(
  { ledger, onAbandoned }: RepairDeps,
  event: EnvelopedEvent,
  { code, end }: { code: AbandonCode; end: EventDisagreement["end"] },
): Promise<AbandonAnswer> {
  const message = end?.failedReason ?? "the queue gave the job up";
  const reason = { code, message, run: end?.run ?? "" };
  const answer = await ledger.repair.abandonEvent(event, reason);
  if (answer === "failed") onAbandoned(event, message);
  return answer;
}

/** A worker finds the event completed, and completes the job. One that it would refuse again is left alone. */
async function completeJobs(
  { queues, isSound }: RepairDeps,
  found: readonly EventDisagreement[],
): Promise<number> {
  const answers = await mapConcurrent(found, RERUN_CONCURRENCY, async ({ event }) => {
    const job = await queues.findJob(event);
    if (job?.event === undefined || job.mac !== undefined || !isSound(job.event)) return "gone";
    return await queues.retryJob(event);
  });
  return count(answers, "retried");
}

/** A retry that died half-way, or a job that completed without its event: it waits again. */
async function requeue(deps: RepairDeps, found: readonly EventDisagreement[]): Promise<number> {
  const events = eventsOf(found);
  const jobs = await requeueJobs(deps.queues, events, { atOnce: false });
  await deps.ledger.repair.markEnqueued(
    events.filter((_, index) => !(jobs[index] instanceof Error)),
  );
  return count(jobs, "requeued");
}

function count(answers: readonly unknown[], wanted: string): number {
  return answers.filter((answer) => answer === wanted).length;
}

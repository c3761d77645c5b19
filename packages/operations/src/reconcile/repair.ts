import type { DisagreementKind } from "@millrace/api-contract";
import { isMillraceError, type EnvelopedEvent, type StoreResult } from "@millrace/core";
import type { AbandonAnswer, Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { mapConcurrent } from "../map-concurrent.ts";
import { requeueJobs, withoutBody } from "../requeue.ts";
import type { Capacity } from "./capacity.ts";
import type { CompareDeps } from "./compare.ts";
import type { Disagreement } from "./disagreement.ts";

/** What it takes to make ledger and queues agree. */
export interface RepairDeps extends Pick<CompareDeps, "isSound"> {
  readonly ledger: Pick<Ledger, "repair">;
  readonly queues: Pick<Queues, "enqueue" | "retryJob" | "rerunJob" | "findJob">;
  readonly capacity: Capacity;
  /** Jobs in one call, whose answers must come within the queue's deadline. */
  readonly jobsMax: number;
  /** Called for each event that the reconciler has failed for good. */
  readonly onAbandoned: (event: EnvelopedEvent, reason: string) => void;
}

type Repair = (deps: RepairDeps, found: readonly Disagreement[]) => Promise<number>;

/** What is done about each kind; returns how many were repaired. What was not is found again. */
const REPAIRS: Record<DisagreementKind, Repair> = {
  pending_without_job: addJobs,
  pending_job_failed: failEvents,
  pending_retry_unfinished: requeue,
  pending_job_completed: requeue,
  unrecorded_job_failed: recordFailed,
  unrecorded_job_completed: async () => 0,
};

/** Disagreements that are repaired one by one are repaired this many at a time. */
const CONCURRENCY = 8;

/**
 * Makes ledger and queue agree again on what was found; returns how many of each kind. No attempt is
 * counted, and nothing is done twice: two reconcilers at once, or one and a person's retry, end where
 * one of them would have.
 */
export async function repair(
  deps: RepairDeps,
  found: readonly Disagreement[],
): Promise<ReadonlyMap<DisagreementKind, number>> {
  const byKind = new Map<DisagreementKind, Disagreement[]>();
  for (const one of found) {
    const same = byKind.get(one.kind);
    if (same === undefined) byKind.set(one.kind, [one]);
    else same.push(one);
  }
  const repaired = new Map<DisagreementKind, number>();
  for (const [kind, same] of byKind) repaired.set(kind, await REPAIRS[kind](deps, same));
  return repaired;
}

/**
 * Adds the jobs of events that have none, as far as their queues have capacity. The ledger has the bodies,
 * so a job carries the identity alone. An event that gets none is noted as not enqueued in the ledger,
 * so that the next pass comes back to it.
 *
 * @throws `unavailable` when the queue takes no job at all.
 */
async function addJobs(deps: RepairDeps, found: readonly Disagreement[]): Promise<number> {
  const { ledger, queues, capacity, jobsMax } = deps;
  const chosen: Disagreement[] = [];
  const left: Disagreement[] = [];
  for (const one of found) (capacity.take(one.event.source) ? chosen : left).push(one);
  const added: Disagreement[] = [];
  let failure: Error | undefined;
  for (let at = 0; at < chosen.length && failure === undefined; at += jobsMax) {
    const chunk = chosen.slice(at, at + jobsMax);
    const events = eventsOf(chunk).map(withoutBody);
    const results = await queues.enqueue(events, { identityOnly: true });
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

const eventsOf = (found: readonly Disagreement[]) => found.map(({ event }) => event);

/** The queue abandoned the job, and no worker could tell the ledger. */
async function failEvents(deps: RepairDeps, found: readonly Disagreement[]): Promise<number> {
  const answers = await mapConcurrent(found, CONCURRENCY, ({ event, end }) =>
    failEvent(deps, event, end),
  );
  return count(answers, "failed");
}

/** The worker died before it could record the event, and the queue abandoned its job. */
async function recordFailed(deps: RepairDeps, found: readonly Disagreement[]): Promise<number> {
  const answers = await mapConcurrent(found, CONCURRENCY, async ({ event, end }) => {
    const job = await deps.queues.findJob(event);
    const isOurs = job?.state === "failed" && job.event !== undefined && deps.isSound(job.event);
    return isOurs ? await failEvent(deps, job.event, end) : "gone";
  });
  return count(answers, "failed");
}

/** Fails an event in the ledger; one that the ledger does not know is recorded first, if it has its body. */
async function failEvent(
  { ledger, onAbandoned }: RepairDeps,
  event: EnvelopedEvent,
  end: Disagreement["end"],
): Promise<AbandonAnswer> {
  const message = end?.failedReason ?? "the queue gave the job up";
  const reason = { code: "gave_up", message, run: end?.run ?? "" } as const;
  const answer = await ledger.repair.abandonEvent(event, reason);
  if (answer === "failed") onAbandoned(event, message);
  return answer;
}

/** A retry that died half-way, or a job that completed without its event: it waits again. */
async function requeue(deps: RepairDeps, found: readonly Disagreement[]): Promise<number> {
  const events = eventsOf(found);
  const jobs = await requeueJobs(deps.queues, events, { awaitActive: false });
  await deps.ledger.repair.markEnqueued(
    events.filter((_, index) => !(jobs[index] instanceof Error)),
  );
  return count(jobs, "requeued");
}

function count(answers: readonly unknown[], wanted: string): number {
  return answers.filter((answer) => answer === wanted).length;
}

import type { SkipReason } from "@millrace/api-contract/run-text";
import { asError, wait, type EnvelopedEvent, type EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import pMap from "p-map";

/** The job waits because of this call; it was on its way before; or the queue did not answer. */
export type Requeued = "requeued" | "on_its_way" | Error;

/** Jobs that are changed at once. On Redis they share a connection, and their round trips. */
export const CONCURRENCY = 64;
/** Milliseconds for a job that a worker is just failing to arrive in the queue's `failed`. */
const ACTIVE_TIMEOUT_MS = 2_000;
const ACTIVE_RETRY_DELAY_MS = 25;

export interface RetryDeps {
  readonly ledger: Pick<Ledger, "reads" | "retries">;
  readonly queues: Queues;
}

type EnqueueJobs = (
  queues: Queues,
  events: readonly EnvelopedEvent[],
) => Promise<readonly Requeued[]>;

export async function enqueuePending(
  { ledger, queues }: { readonly ledger: Pick<Ledger, "retries">; readonly queues: Queues },
  events: readonly EnvelopedEvent[],
  enqueue: EnqueueJobs,
): Promise<readonly Requeued[]> {
  const jobs = await enqueue(queues, events);
  await ledger.retries.markEnqueued(events.filter((_, index) => !(jobs[index] instanceof Error)));
  return jobs;
}

/** Moves ended jobs back, and adds missing ones. */
export const requeueJobs: EnqueueJobs = (queues, events) => requeueBy(requeueOnce, queues, events);

/** For a person's retry: a job gets the time to arrive in `failed`, and a delayed one runs now. */
export const requeueJobsAtOnce: EnqueueJobs = (queues, events) =>
  requeueBy(requeueAtOnce, queues, events);

async function requeueBy(
  requeue: (queues: Queues, event: EnvelopedEvent) => Promise<JobFound>,
  queues: Queues,
  events: readonly EnvelopedEvent[],
): Promise<readonly Requeued[]> {
  const found = await pMap(events, (event) => requeue(queues, event).catch(asError), {
    concurrency: CONCURRENCY,
  });
  const missing = events.filter((_, index) => found[index] === "missing");
  if (missing.length === 0) return found.map(toRequeued);
  const added = await queues.enqueue(missing.map(withoutBody), { identityOnly: true });
  const results = added.values();
  return found.map((job) => {
    if (job !== "missing") return toRequeued(job);
    const result = results.next().value;
    if (result instanceof Error) return result;
    return result === "accepted" ? "requeued" : "on_its_way";
  });
}

export const addJobs: EnqueueJobs = async (queues, events) => {
  if (events.length === 0) return [];
  const added = await queues.enqueue(events.map(withoutBody), { identityOnly: true, exact: true });
  // A queue that is older than the ledger's rows (a restored database) may have such a job, ended.
  const isKnown = (index: number) =>
    !(added[index] instanceof Error) && added[index] !== "accepted";
  const known = events.filter((_, index) => isKnown(index));
  const requeued = (await requeueJobs(queues, known)).values();
  return added.map((result, index) => {
    if (result instanceof Error) return result;
    return isKnown(index) ? (requeued.next().value ?? "on_its_way") : "requeued";
  });
};

const NO_BODY = new Uint8Array();

export const withoutBody = (event: EnvelopedEvent) => ({ ...event, headers: {}, body: NO_BODY });

type JobFound = "requeued" | "on_its_way" | "delayed" | "active" | "missing";

function toRequeued(job: JobFound | Error): Requeued {
  return job === "requeued" || job instanceof Error ? job : "on_its_way";
}

// A worker writes `failed` to the ledger first, so that its job is active for a moment more, and
// would fail right after a retry. If the worker died in between, the stall check runs the job.
async function requeueAtOnce(queues: Queues, event: EnvelopedEvent): Promise<JobFound> {
  const deadline = Date.now() + ACTIVE_TIMEOUT_MS;
  for (;;) {
    const job = await requeueOnce(queues, event);
    if (job === "delayed" && (await queues.promoteJob(event)) === "retried") return "requeued";
    if ((job !== "active" && job !== "delayed") || Date.now() >= deadline) return job;
    await wait(ACTIVE_RETRY_DELAY_MS);
  }
}

async function requeueOnce(queues: Queues, event: EnvelopedEvent): Promise<JobFound> {
  const answer = await queues.retryJob(event);
  if (answer === "retried") return "requeued";
  const job = answer === "not_found" ? undefined : await queues.findJob(event);
  if (job === undefined) return "missing";
  if (job.state === "waiting") return "on_its_way";
  if (job.state !== "completed") return job.state === "delayed" ? "delayed" : "active";
  // Should the event be completed after all, its worker finds it so and does nothing.
  const rerun = await queues.rerunJob(event);
  if (rerun === "retried") return "requeued";
  return rerun === "not_found" ? "missing" : "active";
}

export interface SkippedEvent {
  readonly kind: "skipped";
  readonly reason: SkipReason;
}

export const skipped = (reason: SkipReason): SkippedEvent => ({ kind: "skipped", reason });

/** @throws the queue's first error; the reconciler adds the jobs that are missing. */
export function requireJobs(jobs: readonly Requeued[]): void {
  const failure = jobs.find((job) => job instanceof Error);
  if (failure !== undefined) throw failure;
}

export async function skipUnrecorded(
  queues: Queues,
  lookup: EventLookup,
  onItsWay: "not_failed" | "not_settled",
): Promise<SkippedEvent> {
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  if (job === undefined) return skipped("not_found");
  return skipped(job.state === "failed" ? "only_in_queue" : onItsWay);
}

import type { EnvelopedEvent, EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import type { Requeued, RequeueQueues } from "./requeue.ts";

/** The part of the queues that a retry or a replay uses. */
export type RunAgainQueues = RequeueQueues & Pick<Queues, "queues" | "ping">;

/** The reason why an event was not run again. */
export type Skip =
  /** A retry: it is completed, or pending with its job on the way. */
  | "not_failed"
  /** A replay: its latest generation is pending. */
  | "not_settled"
  /** A replay: there is a later generation than the one asked for. */
  | "superseded"
  /** Neither the ledger nor the queue has it. */
  | "not_found"
  /** The source is no longer configured, so no worker would run it. */
  | "unknown_source"
  /** Only a failed job has it, which no worker could record: the job's own failure says why. */
  | "only_in_queue"
  /** Its body is no longer kept. */
  | "body_missing";

/** An event that was not run again. */
export interface SkippedEvent {
  readonly kind: "skipped";
  readonly reason: Skip;
}

export const skipped = (reason: Skip): SkippedEvent => ({ kind: "skipped", reason });

/**
 * Adds the jobs of events that the ledger has made pending, and marks those that have one by then.
 * The reconciler adds the others.
 *
 * @throws `database_unavailable`; what the queue answered to the first event that it did not take.
 */
export async function enqueuePending(
  ledger: Pick<Ledger, "retries">,
  events: readonly EnvelopedEvent[],
  enqueue: (events: readonly EnvelopedEvent[]) => Promise<readonly Requeued[]>,
): Promise<void> {
  const jobs = await enqueue(events);
  await ledger.retries.markEnqueued(events.filter((_, index) => !(jobs[index] instanceof Error)));
  const failure = jobs.find((job) => job instanceof Error);
  if (failure !== undefined) throw failure;
}

/** The reason why an unrecorded event is not run again: by its job, if it has one. */
export async function skipUnrecorded(
  queues: RunAgainQueues,
  lookup: EventLookup,
  onItsWay: "not_failed" | "not_settled",
): Promise<SkippedEvent> {
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  if (job === undefined) return skipped("not_found");
  return skipped(job.state === "failed" ? "only_in_queue" : onItsWay);
}

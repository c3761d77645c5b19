import type { EnvelopedEvent, EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import type { Requeued, RequeueQueues } from "./requeue.ts";

/** What a retry or a replay needs of the queues. */
export type RunAgainQueues = RequeueQueues & Pick<Queues, "queues" | "ping">;

/** Why an event was not run again. */
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

/** What the ledger did for one of several events that are retried or replayed together. */
export type LedgerAnswer =
  | SkippedEvent
  /** It is pending, or in a dry run would be. */
  | { readonly kind: "done"; readonly event: EnvelopedEvent };

/** The answer for one of several events that are retried or replayed together. The job of a `done` one waits. */
export type RunAgainAnswer =
  | LedgerAnswer
  /** It is pending in the ledger, and the queue did not take its job: the reconciler will add it. */
  | { readonly kind: "unqueued"; readonly event: EnvelopedEvent; readonly cause: Error };

/**
 * Adds the jobs of events that the ledger has made pending, and marks those that have one by then. The others of
 * the batch keep their answers.
 *
 * @throws `database_unavailable`
 */
export async function enqueuePending(
  ledger: Pick<Ledger, "retries">,
  batch: readonly LedgerAnswer[],
  enqueue: (events: readonly EnvelopedEvent[]) => Promise<readonly Requeued[]>,
): Promise<readonly RunAgainAnswer[]> {
  const pending = batch.flatMap((answer) => (answer.kind === "done" ? [answer.event] : []));
  const jobs = (await enqueue(pending)).values();
  const answers = batch.map((answer): RunAgainAnswer => {
    if (answer.kind === "skipped") return answer;
    const cause = jobs.next().value;
    return cause instanceof Error ? { kind: "unqueued", event: answer.event, cause } : answer;
  });
  const queued = answers.flatMap((answer) => (answer.kind === "done" ? [answer.event] : []));
  await ledger.retries.markEnqueued(queued);
  return answers;
}

/** Why an event that the ledger does not know is not run again: what its job says, if it has one. */
export async function skipUnrecorded(
  queues: RunAgainQueues,
  lookup: EventLookup,
  onItsWay: "not_failed" | "not_settled",
): Promise<SkippedEvent> {
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  if (job === undefined) return skipped("not_found");
  return skipped(job.state === "failed" ? "only_in_queue" : onItsWay);
}

import type { EnvelopedEvent, EventLookup } from "@millrace/core";
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

/** The answer for one of several events that are retried or replayed together. */
export type RunAgainAnswer =
  | SkippedEvent
  /** Its job waits, or in a dry run would. */
  | { readonly kind: "done"; readonly event: EnvelopedEvent }
  /** It is pending in the ledger, and the queue did not take its job: the reconciler will add it. */
  | { readonly kind: "unqueued"; readonly event: EnvelopedEvent; readonly cause: Error };

/** The answer for an event that is pending now, from what became of its job. */
export function answerOf(event: EnvelopedEvent, job: Requeued | undefined): RunAgainAnswer {
  return job instanceof Error ? { kind: "unqueued", event, cause: job } : { kind: "done", event };
}

/** The events among the answers that have a job. */
export function queuedOf(answers: readonly RunAgainAnswer[]): EnvelopedEvent[] {
  return answers.flatMap((answer) => (answer.kind === "done" ? [answer.event] : []));
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

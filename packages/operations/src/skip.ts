import type { EventLookup } from "@millrace/ledger";
import type { RunAgainQueues } from "./ports.ts";

/** Why an event was not run again. */
export type Skip =
  /** A retry: it is completed, or pending with its job on the way. */
  | "not_failed"
  /** A replay: its latest generation is pending. */
  | "not_settled"
  /** A replay: a later generation than the one asked for is there. */
  | "superseded"
  /** Neither the ledger nor the queue has it. */
  | "not_found"
  /** No such source is configured any longer, so no worker would run it. */
  | "unknown_source"
  /** Only a failed job has it, which no worker could record: the job's own failure says why. */
  | "only_in_queue"
  /** Its bytes are no longer kept. */
  | "body_missing";

/** How many events were not run again, by reason. */
export type Skipped = Readonly<Partial<Record<Skip, number>>>;

/** An event that was not run again. */
export interface SkippedEvent {
  readonly kind: "skipped";
  readonly reason: Skip;
}

export const skipped = (reason: Skip): SkippedEvent => ({ kind: "skipped", reason });

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

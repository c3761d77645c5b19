import type { EventLookup } from "@millrace/core";
import type { Deliveries } from "@millrace/api-contract";
import type { EventRecord, Ledger } from "@millrace/ledger";
import type { FoundJob, Queues } from "@millrace/queue";

/** An event of the ledger, or as yet only of its job. */
export type ShownEvent =
  | { readonly stage: "recorded"; readonly detail: EventRecord }
  | { readonly stage: "queued"; readonly job: FoundJob; readonly deliveries: Deliveries };

export interface ShowDeps {
  readonly ledger: Pick<Ledger, "reads">;
  readonly queues: Pick<Queues, "queues" | "findJob" | "ping">;
}

/**
 * Finds an event in the ledger, else in the queue; undefined for an unknown event.
 *
 * @throws `database_unavailable`; the queue's error where only the queue can answer.
 */
export async function showEvent(
  deps: ShowDeps,
  lookup: EventLookup,
  options: { readonly bodyBytesMax?: number } = {},
): Promise<ShownEvent | undefined> {
  const detail = await deps.ledger.reads.findEvent(lookup, options);
  if (detail !== undefined) return { stage: "recorded", detail };
  const job = await findQueued(deps, lookup);
  if (job === undefined) return undefined;
  const { acceptedAtMs } = job.event ?? { acceptedAtMs: job.enqueuedAtMs };
  const deliveries = await deps.ledger.reads.findDeliveries(lookup, acceptedAtMs);
  return { stage: "queued", job, deliveries };
}

/** The job of an event that the ledger does not have. */
export async function findQueued(
  { queues }: ShowDeps,
  lookup: EventLookup,
): Promise<FoundJob | undefined> {
  if (!queues.queues.has(lookup.source)) return undefined;
  await queues.ping();
  return await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
}

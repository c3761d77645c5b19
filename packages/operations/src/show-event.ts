import type { EventLookup } from "@millrace/core";
import type { EventRecord, Ledger } from "@millrace/ledger";
import type { FoundJob, Queues } from "@millrace/queue";

/** What is known of one event: by the ledger, or as yet only by its job. */
export type ShownEvent =
  | { readonly stage: "recorded"; readonly detail: EventRecord }
  | { readonly stage: "queued"; readonly job: FoundJob };

interface Deps {
  readonly ledger: Pick<Ledger, "reads">;
  readonly queues: Pick<Queues, "queues" | "findJob" | "ping">;
}

/**
 * Finds an event in the ledger, else in the queue; undefined when neither has it. Without a
 * generation it is the latest.
 *
 * @throws `database_unavailable`; `redis_unreachable` or `database_unreachable` when it would be
 * the queue's to say and it does not answer.
 */
export async function showEvent(
  { ledger, queues }: Deps,
  lookup: EventLookup,
): Promise<ShownEvent | undefined> {
  const detail = await ledger.reads.findEvent(lookup);
  if (detail !== undefined) return { stage: "recorded", detail };
  if (!queues.queues.has(lookup.source)) return undefined;
  await queues.ping();
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  return job === undefined ? undefined : { stage: "queued", job };
}

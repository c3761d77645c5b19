import type { EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import {
  addJobs,
  enqueuePending,
  requireJobs,
  type RunAgainQueues,
  skipped,
  type SkippedEvent,
  skipUnrecorded,
} from "./requeue.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "retries">;
  readonly queues: RunAgainQueues;
}

export type ReplayResult =
  { readonly kind: "replayed"; readonly generation: number } | SkippedEvent;

/**
 * Runs a settled event again as a further generation. A generation that is named must be the
 * latest, so that a request that is sent twice is granted once.
 *
 * @throws as {@link retryEvent}
 */
export async function replayEvent(deps: Deps, lookup: EventLookup): Promise<ReplayResult> {
  const { ledger, queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  await queues.ping();
  const [result = { kind: "not_found" as const }] = await ledger.retries.replay([lookup]);
  if (result.kind !== "replayed") {
    // A missing generation is not looked for in the queue: only the ledger makes them.
    const isUnknown = result.kind === "not_found" && (lookup.generation ?? 0) === 0;
    if (isUnknown) return await skipUnrecorded(queues, lookup, "not_settled");
    return skipped(result.kind);
  }
  const jobs = await enqueuePending(ledger.retries, [result.event], (events) =>
    addJobs(queues, events),
  );
  requireJobs(jobs);
  return { kind: "replayed", generation: result.event.generation };
}

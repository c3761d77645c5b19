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

/** The result of a replay, or why nothing was done. */
export type ReplayResult =
  { readonly kind: "replayed"; readonly generation: number } | SkippedEvent;

/**
 * Makes a settled event run again as a further generation, on the same body: its old rows stay as
 * they are. A generation that is named must be the latest, so that a request that is sent twice is
 * granted once.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer; `unavailable` when it cannot take the job. The generation is pending then, and the
 * reconciler enqueues it. `database_unavailable` when Postgres fails.
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

import type { EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { runBulk, type BulkOptions, type BulkResult, type SearchLedger } from "./bulk.ts";
import { addJobs } from "./requeue.ts";
import {
  enqueuePending,
  skipped,
  skipUnrecorded,
  type LedgerAnswer,
  type RunAgainAnswer,
  type RunAgainQueues,
  type SkippedEvent,
} from "./run-again.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "retries">;
  readonly queues: RunAgainQueues;
}

/** The result of a replay, or why nothing was done. */
export type ReplayResult =
  { readonly kind: "replayed"; readonly generation: number } | SkippedEvent;

/**
 * Makes a settled event run again as a further generation, on the same body: its old rows stay as they
 * are. A generation that is named must be the latest, so that a request that is sent twice is granted once.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer; `unavailable` when it cannot take the job. The generation is pending then, and the
 * reconciler enqueues it. `database_unavailable` when Postgres fails.
 */
export async function replayEvent(deps: Deps, lookup: EventLookup): Promise<ReplayResult> {
  const { queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  await queues.ping();
  const [answer = skipped("not_found")] = await replayBatch(deps, [lookup], { dryRun: false });
  if (answer.kind === "unqueued") throw answer.cause;
  if (answer.kind === "done") return { kind: "replayed", generation: answer.event.generation };
  // A missing generation is not looked for in the queue: only the ledger makes them.
  const isUnknown = answer.reason === "not_found" && (lookup.generation ?? 0) === 0;
  return isUnknown ? await skipUnrecorded(queues, lookup, "not_settled") : answer;
}

/**
 * Replays every settled event of a filter, newest first, each once, however many of its generations
 * match: all but the latest are `superseded`.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source`. What happens later is in
 * the result.
 */
export async function replayMany(
  deps: Deps & { readonly ledger: SearchLedger },
  options: BulkOptions,
): Promise<BulkResult> {
  return await runBulk(deps, options, (keys, how) => replayBatch(deps, keys, how));
}

/**
 * Replays some events together: all of them in the ledger first, then their jobs. One answer a lookup.
 *
 * @throws `database_unavailable`
 */
async function replayBatch(
  { ledger, queues }: Deps,
  lookups: readonly EventLookup[],
  options: { dryRun: boolean },
): Promise<readonly RunAgainAnswer[]> {
  const results = await ledger.retries.replay(lookups, options);
  const batch = results.map((result): LedgerAnswer =>
    result.kind === "replayed" ? { kind: "done", event: result.event } : skipped(result.kind),
  );
  if (options.dryRun) return batch;
  return await enqueuePending(ledger, batch, (events) => addJobs(queues, events));
}

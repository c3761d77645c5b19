import type { EventLookup } from "@millrace/ledger";
import type { ReplayLedger, RunAgainQueues } from "./ports.ts";
import { replayBatch } from "./replay-batch.ts";
import { skipped, skipUnrecorded, type SkippedEvent } from "./skip.ts";

/** What became of a replay, or why nothing was done. */
export type ReplayResult =
  { readonly kind: "replayed"; readonly generation: number } | SkippedEvent;

interface Deps {
  readonly ledger: ReplayLedger;
  readonly queues: RunAgainQueues;
}

/**
 * Makes a settled event run again as a further generation, on the same body: its old rows stay as they
 * are. A generation that is named must be the latest, so that one and the same wish is granted once.
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
  // A generation that is not there is not looked for in the queue: only the ledger makes them.
  const isUnknown = answer.reason === "not_found" && (lookup.generation ?? 0) === 0;
  return isUnknown ? await skipUnrecorded(queues, lookup, "not_settled") : answer;
}

import { runBulk, type BulkOptions, type BulkResult } from "./bulk.ts";
import type { ReplayLedger, RunAgainQueues, SearchLedger } from "./ports.ts";
import { replayBatch } from "./replay-batch.ts";

interface Deps {
  readonly ledger: SearchLedger & ReplayLedger;
  readonly queues: RunAgainQueues;
}

/**
 * Replays every settled event of a filter, newest first, each once, whatever number of its generations
 * the filter has: those but the latest are `superseded`.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source`. What happens later is told
 * by the result.
 */
export async function replayMany(deps: Deps, options: BulkOptions): Promise<BulkResult> {
  return await runBulk(deps, options, (keys, how) => replayBatch(deps, keys, how));
}

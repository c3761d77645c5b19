import { runBulk, type BulkOptions, type BulkResult } from "./bulk.ts";
import type { RetryLedger, RunAgainQueues, SearchLedger } from "./ports.ts";
import { retryBatch } from "./retry-batch.ts";

interface Deps {
  readonly ledger: SearchLedger & RetryLedger;
  readonly queues: RunAgainQueues;
}

/** Which failed events to retry, and how. */
export interface RetryManyOptions extends BulkOptions {
  readonly filter: Omit<BulkOptions["filter"], "status" | "outcome">;
}

/**
 * Retries every failed event of a filter, newest first: by several people at once, each event once.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source`. What happens later is told
 * by the result.
 */
export async function retryMany(deps: Deps, options: RetryManyOptions): Promise<BulkResult> {
  // The status is no part of what was asked for, and so does not make up for a filter.
  const { ledger, queues } = deps;
  const failed: typeof ledger.findEvents = (filter) =>
    ledger.findEvents({ ...filter, status: "failed" });
  return await runBulk({ ledger: { findEvents: failed }, queues }, options, (keys, how) =>
    retryBatch(deps, keys, how),
  );
}

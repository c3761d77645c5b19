import type { EventKey, EventLookup } from "@millrace/core";
import type { Ledger, RetryManyAnswer } from "@millrace/ledger";
import { runBulk, type BulkOptions, type BulkResult, type SearchLedger } from "./bulk.ts";
import { requeueJobs } from "./requeue.ts";
import {
  enqueuePending,
  skipped,
  skipUnrecorded,
  type LedgerAnswer,
  type RunAgainAnswer,
  type RunAgainQueues,
  type Skip,
  type SkippedEvent,
} from "./run-again.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries">;
  readonly queues: RunAgainQueues;
}

/** The result of a retry, or why nothing was done. */
export type RetryResult = { readonly kind: "retried" } | SkippedEvent;

const RETRIED: RetryResult = { kind: "retried" };

/**
 * Makes a failed event run again with all its attempts: the ledger first, then its job, which is
 * added again when it is gone. An event that an earlier retry left half-way, pending in
 * the ledger with its job ended or gone, is repaired in the same way. Without a generation it is the
 * event's latest.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer; `unavailable` when it cannot take the job. The event is pending then, and the
 * reconciler or the next retry goes on from there. `database_unavailable` when Postgres fails.
 */
export async function retryEvent(deps: Deps, lookup: EventLookup): Promise<RetryResult> {
  const { ledger, queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  const detail = await ledger.reads.findEvent(lookup);
  await queues.ping();
  if (detail === undefined) return await skipUnrecorded(queues, lookup, "not_failed");
  const { status, generation } = detail.event;
  const key = { source: lookup.source, eventId: lookup.eventId, generation };
  if (status === "pending") return await requeuePending(deps, key);
  const [answer] = await retryBatch(deps, [key], { dryRun: false });
  if (answer?.kind === "unqueued") throw answer.cause;
  return answer?.kind === "done" ? RETRIED : (answer ?? skipped("not_found"));
}

/** Pending, by itself or by another retry: a job that is on its way needs nothing. */
async function requeuePending({ ledger, queues }: Deps, key: EventKey): Promise<RetryResult> {
  const [answer] = await ledger.retries.retryMany([key], { dryRun: true });
  if (answer?.kind === "body_missing") return skipped("body_missing");
  if (answer?.kind !== "pending") return skipped("not_failed");
  const [job] = await requeueJobs(queues, [answer.event], { awaitActive: false });
  if (job instanceof Error) throw job;
  if (job !== "requeued") return skipped("not_failed");
  await ledger.retries.markEnqueued([key]);
  return RETRIED;
}

/** Which failed events to retry, and how. */
export interface RetryManyOptions extends BulkOptions {
  readonly filter: Omit<BulkOptions["filter"], "status" | "outcome">;
}

/**
 * Retries every failed event of a filter, newest first: by several people at once, each event once.
 *
 * @throws `invalid_request` for no filter without `all`, `unknown_source`. What happens later is in
 * the result.
 */
export async function retryMany(deps: Deps, options: RetryManyOptions): Promise<BulkResult> {
  // The status is no part of what was asked for, so it does not count as a filter.
  const { ledger, queues } = deps;
  const findEvents: SearchLedger["reads"]["findEvents"] = (filter) =>
    ledger.reads.findEvents({ ...filter, status: "failed" });
  const failed = { ledger: { reads: { findEvents } }, queues };
  return await runBulk(failed, options, (keys, how) => retryBatch(deps, keys, how));
}

/**
 * Retries some events together: all of them in the ledger first, then their jobs. One answer a key.
 *
 * @throws `database_unavailable`
 */
async function retryBatch(
  { ledger, queues }: Deps,
  keys: readonly EventKey[],
  options: { dryRun: boolean },
): Promise<readonly RunAgainAnswer[]> {
  const results = await ledger.retries.retryMany(keys, options);
  const batch = results.map((result): LedgerAnswer =>
    result.kind === "retried"
      ? { kind: "done", event: result.event }
      : skipped(WHY_NOT[result.kind]),
  );
  if (options.dryRun) return batch;
  return await enqueuePending(ledger, batch, (events) =>
    requeueJobs(queues, events, { awaitActive: true }),
  );
}

const WHY_NOT: Record<Exclude<RetryManyAnswer["kind"], "retried">, Skip> = {
  pending: "not_failed",
  completed: "not_failed",
  not_found: "not_found",
  body_missing: "body_missing",
};

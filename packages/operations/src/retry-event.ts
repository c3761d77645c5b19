import type { EventKey } from "@millrace/core";
import type { EventLookup } from "@millrace/ledger";
import type { RetryLedger, RunAgainQueues } from "./ports.ts";
import { wakeJobs } from "./put-jobs.ts";
import { retryBatch } from "./retry-batch.ts";
import { skipped, skipUnrecorded, type SkippedEvent } from "./skip.ts";

/** What became of a retry, or why nothing was done. */
export type RetryResult = { readonly kind: "retried" } | SkippedEvent;

interface Deps {
  readonly ledger: RetryLedger;
  readonly queues: RunAgainQueues;
}

/**
 * Makes a failed event run again with all its attempts: the ledger first, then its job, which is
 * put on the queue anew when it is gone. An event that an earlier retry left half-way, pending in
 * the ledger with its job ended or gone, is mended in the same way. Without a generation it is the
 * event's latest.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer; `unavailable` when it cannot take the job. The event is pending then, and the
 * reconciler or the next retry goes on from there. `database_unavailable` when Postgres fails.
 */
export async function retryEvent(deps: Deps, lookup: EventLookup): Promise<RetryResult> {
  const { ledger, queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  const detail = await ledger.findEvent(lookup);
  await queues.ping();
  if (detail === undefined) return await skipUnrecorded(queues, lookup, "not_failed");
  const { status, generation } = detail.event;
  const key = { source: lookup.source, eventId: lookup.eventId, generation };
  if (status === "pending") return await mend(deps, key);
  const [answer] = await retryBatch(deps, [key], { dryRun: false });
  if (answer?.kind === "unqueued") throw answer.cause;
  return answer?.kind === "done" ? RETRIED : (answer ?? skipped("not_found"));
}

const RETRIED: RetryResult = { kind: "retried" };

/** Pending, by itself or by another's retry: a job that is on its way is no news. */
async function mend({ ledger, queues }: Deps, key: EventKey): Promise<RetryResult> {
  const [answer] = await ledger.retryMany([key], { dryRun: true });
  if (answer?.kind === "body_missing") return skipped("body_missing");
  if (answer?.kind !== "pending") return skipped("not_failed");
  const [job] = await wakeJobs(queues, [answer.event], { patient: false });
  if (job instanceof Error) throw job;
  if (job !== "woken") return skipped("not_failed");
  await ledger.markEnqueued([key]);
  return RETRIED;
}

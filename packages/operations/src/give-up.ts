import { asError, keyOf, type EventKey, type EventLookup } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import pMap from "p-map";
import { CONCURRENCY, skipped, type RetryDeps, type SkippedEvent } from "./requeue.ts";

/**
 * If the queue does not answer, the reconciler removes the job; one that is due runs no handler.
 * @throws `database_unavailable`; the queue's error for an event that the ledger does not know
 */
export async function giveUpEvent(
  { ledger, queues }: RetryDeps,
  lookup: EventLookup,
): Promise<{ readonly kind: "given_up" } | SkippedEvent> {
  const found = await ledger.reads.findStatus(lookup);
  if (found === undefined) return await skipUnrecorded(queues, lookup);
  const key = keyOf({ ...lookup, generation: found.generation });
  const [answer = "not_found"] = await ledger.retries.giveUpMany([key]);
  if (answer !== "given_up") return skipped(answer);
  await removeJobs({ ledger, queues }, [key]);
  return { kind: "given_up" };
}

/** An event that comes through Redis is recorded some seconds into its first attempt. */
async function skipUnrecorded(queues: Queues, lookup: EventLookup): Promise<SkippedEvent> {
  if (!queues.queues.has(lookup.source)) return skipped("not_found");
  const job = await queues.findJob({ ...lookup, generation: lookup.generation ?? 0 });
  return skipped(job?.state === "active" ? "event_running" : "not_found");
}

export async function removeJobs(
  { ledger, queues }: { readonly ledger: Pick<Ledger, "retries">; readonly queues: Queues },
  keys: readonly EventKey[],
): Promise<number> {
  const known = keys.filter(({ source }) => queues.queues.has(source));
  const remove = (key: EventKey) => queues.removeJob(key).catch(asError);
  const removed = await pMap(known, remove, { concurrency: CONCURRENCY });
  if (removed.some((one) => one instanceof Error)) return 0;
  try {
    const jobs = await queues.jobStatuses(known);
    const gone = known.filter((_, index) => jobs[index]?.state !== "live");
    await ledger.retries.noteJobsRemoved(gone);
    return gone.length;
  } catch {
    return 0;
  }
}

import {
  keyOf,
  LEFT_TO_A_PERSON,
  type EventKey,
  type EventLookup,
  type IncomingEvent,
} from "@millrace/core";
import type { Ledger, RetryManyAnswer } from "@millrace/ledger";
import {
  enqueuePending,
  requeueJobs,
  type RunAgainQueues,
  type Skip,
  skipped,
  type SkippedEvent,
  skipUnrecorded,
} from "./requeue.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "reads" | "retries">;
  readonly queues: RunAgainQueues;
}

/** The result of a retry, or why nothing was done. */
export type RetryResult = { readonly kind: "retried" } | SkippedEvent;

const RETRIED: RetryResult = { kind: "retried" };

/**
 * Makes a failed event run again with all its attempts: the ledger first, then its job, which is
 * added again when it is gone. An event that an earlier retry left half-way, pending in the ledger
 * with its job ended or gone, is repaired in the same way. Without a generation it is the event's
 * latest.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer; `unavailable` when it cannot take the job. The event is pending then, and the
 * reconciler or the next retry goes on from there. `database_unavailable` when Postgres fails.
 */
export async function retryEvent(deps: Deps, lookup: EventLookup): Promise<RetryResult> {
  const { ledger, queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  const found = await ledger.reads.findStatus(lookup);
  await queues.ping();
  if (found === undefined) return await skipUnrecorded(queues, lookup, "not_failed");
  const key = keyOf({ ...lookup, generation: found.generation });
  if (found.status === "pending") return await requeuePending(deps, key);
  return await retryOne(deps, key);
}

/**
 * Retries an event because its sender has delivered it again, and the queue has a job of it that
 * has ended. What is left to a person, such as a suspected replay, is left alone. A Postgres that
 * was restored or failed over may have lost what the delivery brings back: the event, if its job
 * completed, or the body of one that failed with `body_lost`.
 *
 * @throws as {@link retryEvent}
 */
export async function retryDelivered(
  deps: Deps & { readonly ledger: Pick<Ledger, "intake"> },
  event: IncomingEvent,
): Promise<RetryResult> {
  const { ledger, queues } = deps;
  const { source, eventId } = event;
  const found = await ledger.reads.findStatus({ source, eventId });
  await queues.ping();
  if (found === undefined) return await runUnrecorded(deps, event);
  const { status, generation, last_error_code: code } = found;
  const key = keyOf({ ...event, generation });
  if (status === "pending") return await requeuePending(deps, key);
  if (LEFT_TO_A_PERSON.some((one) => one === code)) return skipped("not_failed");
  if (code === "body_lost") await ledger.intake.restoreBody(event);
  return await retryOne(deps, key);
}

/** The ledger takes the event for its job, which the queue says has completed. */
async function runUnrecorded(
  { ledger, queues }: Deps & { readonly ledger: Pick<Ledger, "intake"> },
  event: IncomingEvent,
): Promise<RetryResult> {
  const job = await queues.findJob(event);
  if (job?.state !== "completed") return await skipUnrecorded(queues, event, "not_failed");
  const [taken] = await ledger.intake.accept([event]);
  if (taken instanceof Error) throw taken;
  const [requeued] = await requeueJobs(queues, [event], { atOnce: false });
  if (requeued instanceof Error) throw requeued;
  await ledger.retries.markEnqueued([event]);
  return RETRIED;
}

async function retryOne(deps: Deps, key: EventKey): Promise<RetryResult> {
  const { ledger, queues } = deps;
  const [result] = await ledger.retries.retryMany([key]);
  if (result?.kind !== "retried") return skipped(WHY_NOT[result?.kind ?? "not_found"]);
  await enqueuePending(ledger, [result.event], (events) =>
    requeueJobs(queues, events, { atOnce: true }),
  );
  return RETRIED;
}

/** Pending, by itself or by another retry: a job that is on its way needs nothing. */
async function requeuePending({ ledger, queues }: Deps, key: EventKey): Promise<RetryResult> {
  const [answer] = await ledger.retries.retryMany([key], { dryRun: true });
  if (answer?.kind === "body_missing") return skipped("body_missing");
  if (answer?.kind !== "pending") return skipped("not_failed");
  const [job] = await requeueJobs(queues, [answer.event], { atOnce: false });
  if (job instanceof Error) throw job;
  if (job !== "requeued") return skipped("not_failed");
  await ledger.retries.markEnqueued([key]);
  return RETRIED;
}

/**
 * Retries the events that are named, together: one answer a key, in order. A job that the queue
 * does not take, the reconciler adds.
 *
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer, `database_unavailable`
 */
export async function retryEvents(
  { ledger, queues }: Deps,
  keys: readonly EventKey[],
): Promise<readonly RetryResult[]> {
  await queues.ping();
  const isConfigured = ({ source }: EventKey) => queues.queues.has(source);
  const answers = await ledger.retries.retryMany(keys.filter(isConfigured));
  const events = answers.flatMap((answer) => (answer.kind === "retried" ? [answer.event] : []));
  const jobs = await requeueJobs(queues, events, { atOnce: true });
  await ledger.retries.markEnqueued(events.filter((_, index) => !(jobs[index] instanceof Error)));
  const inOrder = answers.values();
  return keys.map((key) => {
    if (!isConfigured(key)) return skipped("unknown_source");
    const { kind = "not_found" } = inOrder.next().value ?? {};
    return kind === "retried" ? RETRIED : skipped(WHY_NOT[kind]);
  });
}

/** Counts the retried events, and the others by reason. */
export function countResults(results: readonly RetryResult[]): {
  readonly retried: number;
  readonly skipped: Readonly<Record<string, number>>;
} {
  const counts: Record<string, number> = {};
  for (const result of results) {
    if (result.kind === "skipped") counts[result.reason] = (counts[result.reason] ?? 0) + 1;
  }
  return { retried: results.filter(({ kind }) => kind === "retried").length, skipped: counts };
}

const WHY_NOT: Record<Exclude<RetryManyAnswer["kind"], "retried">, Skip> = {
  pending: "not_failed",
  completed: "not_failed",
  not_found: "not_found",
  body_missing: "body_missing",
};

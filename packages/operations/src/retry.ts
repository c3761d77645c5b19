import type { SkipReason } from "@millrace/api-contract/run-text";
import {
  EDITED_MARK,
  EVENT_ID_BYTES_MAX,
  keyOf,
  LEFT_TO_A_PERSON,
  MillraceError,
  type EnvelopedEvent,
  type EventKey,
  type EventLookup,
  type IncomingEvent,
} from "@millrace/core";
import type { Ledger, RetryManyAnswer } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import {
  addJobs,
  enqueuePending,
  requeueJobs,
  requeueJobsAtOnce,
  requireJobs,
  skipped,
  skipUnrecorded,
  type Requeued,
  type RetryDeps,
  type SkippedEvent,
} from "./requeue.ts";

export type RetryResult = { readonly kind: "retried" } | SkippedEvent;

const RETRIED: RetryResult = { kind: "retried" };

/**
 * Makes a failed event run again with all its attempts, and one that waits for its next attempt run
 * now; or completes a retry that was cut off.
 * @throws `redis_unreachable` or `database_unreachable` before anything is done; `unavailable` when
 * the queue cannot take the job, which the reconciler then adds; `database_unavailable`
 */
export async function retryEvent(deps: RetryDeps, lookup: EventLookup): Promise<RetryResult> {
  if (!deps.queues.queues.has(lookup.source)) return skipped("unknown_source");
  return await retryByStatus(deps, lookup, {
    unrecorded: () => skipUnrecorded(deps.queues, lookup, "not_failed"),
    endsDelay: true,
  });
}

/**
 * Retries an event that came again and whose job has ended, unless its code is left to a person. A
 * restored Postgres may have lost the event or its body, which the delivery brings back.
 * @throws as {@link retryEvent}
 */
export async function retryDelivered(
  deps: RetryDeps & { readonly ledger: Pick<Ledger, "intake"> },
  event: IncomingEvent,
): Promise<RetryResult> {
  const { source, eventId } = event;
  const lookup = { source, eventId };
  return await retryByStatus(deps, lookup, {
    unrecorded: () => runUnrecorded(deps, event),
    mayRetry: async (code) => {
      if (LEFT_TO_A_PERSON.some((one) => one === code)) return false;
      if (code === "body_lost") await deps.ledger.intake.restoreBody(event);
      return true;
    },
  });
}

/**
 * Retries named events together: one answer a key, in order. The reconciler adds missing jobs.
 * @throws `redis_unreachable` or `database_unreachable` before anything is done when the queue does
 * not answer, `database_unavailable`
 */
export async function retryEvents(
  deps: RetryDeps,
  keys: readonly EventKey[],
): Promise<readonly RetryResult[]> {
  await deps.queues.ping();
  const isConfigured = ({ source }: EventKey) => deps.queues.queues.has(source);
  const { results } = await retryKeys(deps, keys.filter(isConfigured), true);
  const inOrder = results.values();
  return keys.map((key) =>
    isConfigured(key) ? (inOrder.next().value ?? skipped("not_found")) : skipped("unknown_source"),
  );
}

interface ByStatus {
  readonly unrecorded: () => Promise<RetryResult>;
  /** Asked with the code of a failed event; may prepare its retry. */
  readonly mayRetry?: (code: string | null) => Promise<boolean>;
  /** A delivery does not run a pending event earlier. */
  readonly endsDelay?: boolean;
}

async function retryByStatus(
  deps: RetryDeps,
  lookup: EventLookup,
  { unrecorded, mayRetry = async () => true, endsDelay = false }: ByStatus,
): Promise<RetryResult> {
  const found = await deps.ledger.reads.findStatus(lookup);
  await deps.queues.ping();
  if (found === undefined) return await unrecorded();
  const key = keyOf({ ...lookup, generation: found.generation });
  const isPending = found.status === "pending";
  if (isPending && !endsDelay) return await requeuePending(deps, key);
  if (!(await mayRetry(found.last_error_code))) return skipped("not_failed");
  const { results, jobs } = await retryKeys(deps, [key], endsDelay);
  requireJobs(jobs);
  const [result = skipped("not_found")] = results;
  return isPending && result.kind === "skipped" ? await requeuePending(deps, key) : result;
}

async function retryKeys(
  deps: RetryDeps,
  keys: readonly EventKey[],
  endsDelay: boolean,
): Promise<{ results: readonly RetryResult[]; jobs: readonly Requeued[] }> {
  const answers = await deps.ledger.retries.retryMany(keys, { endsDelay });
  const events = answers.flatMap((answer) => (answer.kind === "retried" ? [answer.event] : []));
  const jobs = await enqueuePending(deps, events, requeueJobsAtOnce);
  const results = keys.map((_, index) => {
    const { kind = "not_found" } = answers[index] ?? {};
    return kind === "retried" ? RETRIED : skipped(WHY_NOT[kind]);
  });
  return { results, jobs };
}

const WHY_NOT: Record<Exclude<RetryManyAnswer["kind"], "retried">, SkipReason> = {
  pending: "not_failed",
  completed: "not_failed",
  not_found: "not_found",
  body_missing: "body_missing",
};

/** The ledger takes the event for its job, which the queue says has completed. */
async function runUnrecorded(
  deps: RetryDeps & { readonly ledger: Pick<Ledger, "intake"> },
  event: IncomingEvent,
): Promise<RetryResult> {
  const { ledger, queues } = deps;
  const job = await queues.findJob(event);
  if (job?.state !== "completed") return await skipUnrecorded(queues, event, "not_failed");
  const [taken] = await ledger.intake.accept([event]);
  if (taken instanceof Error) throw taken;
  requireJobs(await enqueuePending(deps, [event], requeueJobs));
  return RETRIED;
}

/** A job that is on its way needs nothing, and is not marked: it may be failing right now. */
async function requeuePending({ ledger, queues }: RetryDeps, key: EventKey): Promise<RetryResult> {
  const [answer] = await ledger.retries.retryMany([key], { dryRun: true });
  if (answer?.kind === "body_missing") return skipped("body_missing");
  if (answer?.kind !== "pending") return skipped("not_failed");
  const [job] = await requeueJobs(queues, [answer.event]);
  if (job instanceof Error) throw job;
  if (job !== "requeued") return skipped("not_failed");
  await ledger.retries.markEnqueued([key]);
  return RETRIED;
}

export function countResults(results: readonly RetryResult[]) {
  const counts: Record<string, number> = {};
  for (const result of results) {
    if (result.kind === "skipped") counts[result.reason] = (counts[result.reason] ?? 0) + 1;
  }
  return { retried: results.filter(({ kind }) => kind === "retried").length, skipped: counts };
}

export type ReplayResult =
  { readonly kind: "replayed"; readonly generation: number } | SkippedEvent;

export interface ReplayLookup extends EventLookup {
  /** The other body of a conflict. Default: the event's own. */
  readonly bodyHash?: string | undefined;
}

/**
 * A generation that is named must be the latest, so that a request sent twice is granted once.
 * @throws as {@link retryEvent}
 */
export async function replayEvent(
  deps: RetryDeps,
  { bodyHash, ...lookup }: ReplayLookup,
): Promise<ReplayResult> {
  const { ledger, queues } = deps;
  if (!queues.queues.has(lookup.source)) return skipped("unknown_source");
  await queues.ping();
  const [result = { kind: "not_found" as const }] = await ledger.retries.replay([lookup], {
    bodyHash,
  });
  if (result.kind !== "replayed") {
    // A missing generation is not looked for in the queue: only the ledger makes them.
    const isUnknown = result.kind === "not_found" && (lookup.generation ?? 0) === 0;
    if (isUnknown) return await skipUnrecorded(queues, lookup, "not_settled");
    return skipped(result.kind);
  }
  requireJobs(await enqueuePending(deps, [result.event], addJobs));
  return { kind: "replayed", generation: result.event.generation };
}

export interface Edit extends EventLookup {
  readonly body: string;
  /** Default: the type of the event that is edited. */
  readonly type?: string | undefined;
}

/** Bytes of a number behind an id. */
const NUMBER_BYTES_MAX = 10;

/**
 * Sends an event with another body, as an event of its own; undefined when the ledger has no such
 * event.
 * @throws `unknown_source`; `invalid_request` when the new id is too long; as {@link retryEvent}
 */
export async function sendEdited(
  deps: RetryDeps,
  { body, type, ...lookup }: Edit,
): Promise<EnvelopedEvent | undefined> {
  requireSource(deps.queues, lookup.source);
  const idBytes = Buffer.byteLength(lookup.eventId) + EDITED_MARK.length + NUMBER_BYTES_MAX;
  if (idBytes > EVENT_ID_BYTES_MAX) {
    throw new MillraceError("invalid_request", "Cannot edit the event: its id is too long");
  }
  await deps.queues.ping();
  const event = await deps.ledger.retries.sendEdited(lookup, { body: Buffer.from(body), type });
  if (event !== undefined) requireJobs(await enqueuePending(deps, [event], addJobs));
  return event;
}

/** @throws `unknown_source` */
export function requireSource({ queues }: Queues, source: string): void {
  if (queues.has(source)) return;
  throw new MillraceError("unknown_source", "Cannot find the source: it is not configured");
}

/**
 * Runs the events of the queue's jobs: check, slot, claim, call, attempt, settle or fail
 * (process-event.ts reads from top to bottom). The package has no state of its own beyond what runs
 * just now: an event is `pending` until the ledger says `completed` or `failed`, and the queue is
 * given a JobResult: completed, duplicate, failed, retry or lost.
 *
 * A job comes in with the event's bytes or its identity alone; the handlers are given the bytes that
 * the ledger has. What they call runs before the transaction that settles the event, and what they write runs in it.
 *
 * What handlers emit is checked and named in emit.ts, written by the ledger, and handed to `onEmitted` after the commit.
 *
 * Owned here, and nowhere else: the deadline of a handler and of a call (attempt-event.ts), the names of steps (steps.ts),
 * the retry policy, that is
 * attempts and back-off (retry-policy.ts), retries while Postgres is unavailable
 * (database-retry.ts), the slots of transactions and the places of calls (slots.ts) and the user's `onFailed`. The
 * ledger owns the fence between workers and the deduplication of a batch.
 */
export { checkJob } from "./job/check-job.ts";
export { createProcessor, type Processor, type ProcessorDeps } from "./create-processor.ts";
export type { Notice } from "./notices.ts";

/**
 * Runs the events of the queue's jobs: check, slot, claim, attempt, settle or fail
 * (process-event.ts reads from top to bottom). The package has no state of its own beyond what runs
 * just now: an event is `pending` until the ledger says `completed` or `failed`, and the queue is
 * given a JobResult: completed, duplicate, failed, retry or lost.
 *
 * A job comes in with the event's bytes or its identity alone; the handlers are given the bytes that
 * the ledger has, in the transaction that settles the event.
 *
 * Owned here, and nowhere else: the handler's deadline (attempt-event.ts), the retry policy, that is
 * attempts and back-off (retry-policy.ts), retries while Postgres is unavailable
 * (database-retry.ts), the concurrency slots (slots.ts) and the user's `onFailed`. The
 * ledger owns the fence between workers and the deduplication of a batch.
 */
export { checkJob } from "./check-job.ts";
export { createProcessor, type Processor } from "./create-processor.ts";
export type { Notice } from "./notices.ts";

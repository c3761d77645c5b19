/**
 * Runs the events of the queue's jobs; process-event.ts reads from top to bottom. The package owns
 * no stored state: an event is `pending` until the ledger says `completed` or `failed`, and the
 * queue gets a JobResult. Handlers get the ledger's bytes. Calls run before the transaction that
 * settles the event, and writes run in it. Emitted events are checked and named in emit.ts, written
 * by the ledger, and passed to `onEmitted` after the COMMIT.
 * Only this package owns the deadline of a handler and of a call (run-attempt.ts), step names
 * (steps.ts), attempts and back-off (retry-policy.ts), retries while Postgres is unavailable
 * (database-retry.ts), the slots of transactions and calls (slots.ts), and the user's `onFailed`.
 */
export { checkJob } from "./job/trust-job.ts";
export { createProcessor, type Processor, type ProcessorDeps } from "./create-processor.ts";
export type { Notice } from "./notices.ts";

/**
 * What people, programs and the reconciler do to events, over the ledger and the queues. The dashboard, the CLI
 * and the worker call it; nothing here runs by itself but the reconciler.
 *
 * - Retry (retry.ts) and replay (replay.ts) write to the ledger first, pending, and then give the event its job
 *   (requeue.ts). What stops in between is found by the reconciler. bulk.ts does either for a filter, page by page.
 * - The reconciler (reconcile/reconciler.ts) keeps ledger and queues in agreement, in one process at a time: a pass
 *   (pass.ts) walks events and finished jobs (walk.ts), compares them (compare.ts, with the table of
 *   disagreement.ts) and repairs (repair.ts), as far as the queues have capacity. It owns the retry of a lost job.
 * - The retention (retention/run-retention.ts) moves, archives and drops the bodies of a day, then old keys.
 * - Whoever acts is written to the audit first (operator.ts, audit.ts).
 *
 * It has no deadline, breaker or dedup of its own: ledger and queues have theirs, and job ids make adding twice harmless.
 */
export { underAudit, type Actor } from "./audit.ts";
export type { BulkOptions, BulkProgress, BulkResult } from "./bulk.ts";
export { createOperator, type Operator } from "./operator.ts";
export { diagnose, type Diagnosis } from "./reconcile/diagnose.ts";
export { DISAGREEMENT_KINDS, DISAGREEMENTS } from "./reconcile/disagreement.ts";
export { changedQueues } from "./reconcile/epochs.ts";
export { createReconciler, RECONCILER, type ReconcilerNotice } from "./reconcile/reconciler.ts";
export { replayEvent, replayMany, type ReplayResult } from "./replay.ts";
export { planRetention, type RetentionPlan } from "./retention/plan-retention.ts";
export type { RetentionNotice, RetentionPolicy } from "./retention/policy.ts";
export { runRetention, type RetentionResult } from "./retention/run-retention.ts";
export { retryEvent, retryMany, type RetryManyOptions, type RetryResult } from "./retry.ts";
export type { Skip } from "./run-again.ts";
export { showEvent, type ShownEvent } from "./show-event.ts";
export { stats } from "./stats.ts";

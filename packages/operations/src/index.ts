/**
 * The actions of people, programs and the reconciler on events, over the ledger and the queues. The
 * dashboard, the CLI and the worker call it; nothing here runs by itself but the reconciler and the
 * bulk runner.
 *
 * - Retry (retry.ts) and replay (replay.ts) write to the ledger first, pending, and then give the
 *   event its job (requeue.ts). What stops in between is found by the reconciler.
 * - A bulk run does either for the events of a filter. bulk-runs.ts writes it to the ledger under
 *   audit; bulk-runner.ts, in the leading worker, works it off batch by batch at its rate.
 * - Giving up (give-up.ts) fails a pending event in the ledger first, and then removes its job.
 * - The reconciler (reconcile/reconciler.ts) keeps ledger and queues in agreement, in one process
 *   at a time: a pass (pass.ts) walks events and finished jobs (walk.ts), compares them
 *   (compare.ts) and repairs them (repair.ts has a row for each kind), as far as the queues
 *   have capacity. It owns the retry of a lost job.
 * - The retention (retention/run-retention.ts) moves, archives and drops the bodies of a day, then
 *   old keys.
 * - Each action of a user is written to the audit first (operator.ts, audit.ts).
 *
 * It has no deadline, breaker or dedup of its own: ledger and queues have theirs, and job ids make
 * adding twice harmless.
 */
export { endSession, setErrorState, underAudit, type Actor } from "./audit.ts";
export { startBulkRunner, type BulkNotice, type BulkRunner } from "./bulk-runner.ts";
export { changeBulkRun, type BulkCount, type BulkRunOptions } from "./bulk-runs.ts";
export { giveUpEvent, removeJobs } from "./give-up.ts";
export { createOperator, type Operator } from "./operator.ts";
export { diagnose, type Diagnosis } from "./reconcile/diagnose.ts";
export { DISAGREEMENT_KINDS, DISAGREEMENTS } from "./reconcile/repair.ts";
export { changedQueues } from "./reconcile/epochs.ts";
export { findLedgerChanges, LEDGER_CHANGES } from "./reconcile/ledger-epoch.ts";
export { createReconciler, RECONCILER, type ReconcilerNotice } from "./reconcile/reconciler.ts";
export { replayEvent, type ReplayResult } from "./replay.ts";
export { planRetention, type RetentionPlan } from "./retention/plan-retention.ts";
export type { RetentionNotice, RetentionPolicy } from "./retention/policy.ts";
export { runRetention, type RetentionResult } from "./retention/run-retention.ts";
export { countResults, retryDelivered, retryEvent, type RetryResult } from "./retry.ts";
export type { Skip } from "./requeue.ts";
export {
  openBody,
  showEvent,
  type BodyRange,
  type OpenBody,
  type ShowDeps,
  type ShownEvent,
} from "./show-event.ts";
export { stats } from "./stats.ts";

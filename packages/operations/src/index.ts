/**
 * The actions of people, programs, and the reconciler on events, over the ledger and the queues.
 * Only the reconciler and the bulk runner run by themselves.
 * - Retry and replay (retry.ts) make the event pending in the ledger, then give it a job
 *   (requeue.ts). Giving up (give-up.ts) fails it, then removes its job.
 * - A bulk run does so for a filter: bulk-runs.ts starts it, bulk-runner.ts works it off.
 * - The reconciler: a pass (pass.ts) compares events and ended jobs (compare.ts), and repairs
 *   (repair.ts): lost jobs, and actions that were cut off in between.
 * - The retention moves and drops the bodies of a day, then old keys.
 * - Each action of a user is written to the audit first (operator.ts, audit.ts).
 * Deadlines, breakers, and dedup belong to ledger and queues; job IDs make adding twice harmless.
 */
export { DISAGREEMENT_KINDS, type DisagreementKind } from "@millrace/api-contract";
export type { Actor } from "@millrace/ledger";
export { changeError, endSession, underAudit } from "./audit.ts";
export { startBulkRunner, type BulkNotice } from "./bulk-runner.ts";
export { raiseAlerts } from "./raise-alerts.ts";
export { changeBulkRun, type BulkCount, type BulkRunOptions } from "./bulk-runs.ts";
export { giveUpEvent } from "./give-up.ts";
export { createOperator, type Operator } from "./operator.ts";
export { diagnose, type Diagnosis } from "./reconcile/diagnose.ts";
export { DISAGREEMENTS } from "./reconcile/repair.ts";
export { changedQueues, findLedgerChanges, LEDGER_CHANGES } from "./reconcile/epochs.ts";
export { Reconciler, RECONCILER, type ReconcilerNotice } from "./reconcile/reconciler.ts";
export * from "./retention/run-retention.ts";
export * from "./retry.ts";
export { listQueued, queuedRow } from "./list-queued.ts";
export {
  behindOf,
  behindText,
  failingText,
  findBehind,
  findFailingSources,
  findSenders,
  signingText,
  type Failing,
  type SenderFinding,
} from "./sender-findings.ts";
export { readAuditSearch, readFilter, readRunSearch, requireBulk } from "./read-filter.ts";
export * from "./show-event.ts";
export { stats } from "./stats.ts";

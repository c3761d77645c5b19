/**
 * The ledger: the Postgres tables that hold every event, its body, its failed attempts and its status.
 *
 * States: pending → completed or failed; failed → pending by a retry. Triggers refuse all else.
 * Data: `intake.accept` or `claims.record` inserts an event and its body; `claims.attempt` locks the
 * row, runs the handler and completes the event in one transaction; `claims.fail` records why an attempt
 * failed; `claims.attemptFirst` and `claims.attemptGroup` do without a record: they run the handlers of
 * new events, then insert these as completed; `retries` make an event pending again; retention drops
 * bodies and deletes old events.
 * Deduplication: the primary key (source, event_id, generation), here and nowhere else.
 * Deadlines: Postgres' timeouts of a statement, a lock and an idle transaction, and one deadline for
 * each transaction, after which its connection is destroyed (ledger-context.ts, transaction.ts). How
 * long a handler may run is the caller's to say: an attempt ends when its signal aborts (attempt.ts).
 * Nothing is retried here; an error that is worth a retry is `database_unavailable`.
 */
export type { AuditedAct, AuditJson } from "./audit.ts";
export type { AttemptWork } from "./attempt.ts";
export { checkSchema } from "./check-schema.ts";
export { createLedger, type Ledger } from "./create-ledger.ts";
export type { LedgerOptions } from "./ledger-context.ts";
export { createPool } from "./create-pool.ts";
export { isDatabaseUnavailable, messageOf } from "./database-errors.ts";
export type { ConflictingDelivery } from "./note-conflicts.ts";
export type { FirstAttemptEnd, FirstWork } from "./attempt-first.ts";
export type { GroupUnit, GroupTrouble, MemberEnd, UnitEnd } from "./attempt-group.ts";
export type { EventRecord } from "./find-event.ts";
export type { EventFilter } from "./find-events.ts";
export type { AbandonAnswer } from "./abandon-event.ts";
export { createLeader, findLeader, type Leader } from "./leader.ts";
export { migrate } from "./migrate.ts";
export { USER_SCOPE } from "./migration-files.ts";
export { ensurePartitions } from "./bodies.ts";
export type { PendingQuery } from "./pending-page.ts";
export type { ArchivedRow } from "./retention/archive-pages.ts";
export type { BodyPartition } from "./retention/body-partitions.ts";
export {
  createRetentionLedger,
  type RetentionLedger,
} from "./retention/create-retention-ledger.ts";
export type { RetryManyAnswer } from "./retry-many.ts";
export { attempts, bodies, conflicts, events, millrace } from "./schema.ts";
export type { LedgerStatus } from "./ledger-status.ts";
export { SQLSTATE, sqlStateOf } from "./sqlstate.ts";
export { transaction } from "./transaction.ts";

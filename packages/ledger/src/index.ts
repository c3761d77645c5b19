export type { ActivityRow } from "./activity.ts";
export type { AuditIntent, AuditJson, AuditPage, AuditRow } from "./audit.ts";
export type { AttemptWork } from "./attempt.ts";
export { checkSchema } from "./check-schema.ts";
export type { UndoneCounts } from "./count-events.ts";
export { createLedger, type Ledger, type LedgerOptions } from "./create-ledger.ts";
export { createPool, type PoolOptions } from "./create-pool.ts";
export { isDatabaseTrouble, messageOf } from "./database-trouble.ts";
export type { EventRow } from "./event-row.ts";
export type { AttemptRow, EventDetail, EventLookup } from "./find-event.ts";
export type { EventFilter, EventPage } from "./find-events.ts";
export { findLeader } from "./find-leader.ts";
export type { StoredEvent } from "./find-identity.ts";
export type { GiveUpAnswer, GiveUpReason } from "./give-up.ts";
export type { EventIdentity } from "./identity-row.ts";
export { createLeader, type Leader } from "./leader.ts";
export { LEDGER_SCOPE, migrate, USER_SCOPE, type MigrateOptions } from "./migrate.ts";
export { ensurePartitions, PARTITION_DAYS_AHEAD } from "./partitions.ts";
export type { PendingCursor, PendingEvent, PendingQuery } from "./pending-page.ts";
export type { ReplayAnswer } from "./replay.ts";
export type { ArchivedEvent } from "./retention/archive-pages.ts";
export type { BodyPartition } from "./retention/body-partitions.ts";
export {
  createRetentionLedger,
  type RetentionLedger,
} from "./retention/create-retention-ledger.ts";
export type { RetryManyAnswer } from "./retry-many.ts";
export type { RetryAnswer } from "./retry.ts";
export { attempts, bodies, conflicts, events, millrace } from "./schema.ts";
export type { Standing } from "./standing.ts";
export { SQLSTATE, sqlStateOf } from "./sqlstate.ts";
export { transaction, type TransactionLimits, type TransactionOptions } from "./transaction.ts";

/**
 * The ledger: the Postgres tables that hold every event, its body, failed attempts and status.
 * States: pending → completed or failed; failed → pending by a retry. Triggers refuse all else.
 * Data: `intake.accept` or `claims.record` inserts an event; `claims.attempt` locks its row, runs
 * the handler and completes it in one transaction; `attemptFirst` and `attemptGroup` run handlers
 * of new events, then insert these as completed; `claims.fail` records why an attempt failed.
 * Deduplication: the primary key (source, event_id, generation), here and nowhere else.
 * Deadlines: Postgres' timeouts, and one of each transaction (ledger-context.ts, transaction.ts).
 * Nothing is retried here: an error worth a retry is `database_unavailable`.
 */
export type { Actor, AuditedAct, AuditedFact, AuditJson, ListSearch } from "./people/audit.ts";
export type { SeenSession } from "./people/sessions.ts";
export type { AttemptLimits } from "./claims/run-attempt.ts";
export type { BegunEvent } from "./claims/calls.ts";
export type { BulkFilter, BulkRunChange, OpenBulkRun } from "./people/bulk-runs.ts";
export { checkSchema, misplacedTables, USER_SCOPE } from "./schema/migrations.ts";
export { createLedger, type Ledger } from "./create-ledger.ts";
export type { ConnectionReset } from "./connection/connection.ts";
export type { LedgerOptions } from "./connection/ledger-context.ts";
export { createPool, openPool } from "./connection/open-pool.ts";
export type { RepeatedDelivery } from "./intake/deliveries.ts";
export type { NotedRefusals, Refusals, RefusedSource } from "./intake/refusals.ts";
export type { EmitTarget } from "./claims/emit.ts";
export { isDatabaseUnavailable, messageOf } from "./connection/database-errors.ts";
export type { GroupUnit } from "./claims/group-runs.ts";
export type { AttemptEnd } from "./claims/settle.ts";
export { BODY_BYTES_SHOWN, type BodyPart, type EventRecord } from "./reads/find-event.ts";
export type { EventFilter } from "./reads/find-events.ts";
export type { EventSearch } from "./reads/search.ts";
export type { AbandonAnswer } from "./claims/abandon-event.ts";
export { findLeader, Leader } from "./repair/leader.ts";
export { migrate } from "./schema/migrate.ts";
export { missingRights, type RightsRole } from "./schema/rights.ts";
export { readServerFacts, requireSupported, type ServerFacts } from "./connection/server-facts.ts";
export { findPooler, type Pooler } from "./connection/pooler.ts";
export { countActivity } from "./reads/count-activity.ts";
export { ensurePartitions } from "./schema/bodies.ts";
export type { BodyPartition } from "./retention/body-partitions.ts";
export { createRetentionLedger, type RetentionLedger } from "./retention/index.ts";
export type { RetryManyAnswer } from "./people/retry-many.ts";
export { partOf } from "./reads/find-incidents.ts";
export { LATEST_EVENTS, latestTypes } from "./reads/count-events.ts";
export type { LedgerStatus } from "./repair/ledger-status.ts";
export type { KeptChange } from "./repair/queue-epochs.ts";
export type { LedgerIdentity, ServerEpoch } from "./repair/identity.ts";
export { isConflict, isDataError, SQLSTATE, sqlStateOf } from "./connection/sqlstate.ts";
export { transaction } from "./connection/transaction.ts";

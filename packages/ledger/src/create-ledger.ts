import type {
  EnvelopedEvent,
  EventKey,
  IncomingEvent,
  QueuedEvent,
  AttemptFailure,
  AttemptLimits,
  Claim,
  Placement,
} from "@millrace/core";
import type pg from "pg";
import { accept } from "./accept.ts";
import { activity, type ActivityQuery, type ActivityRow } from "./activity.ts";
import {
  beginAudit,
  endAudit,
  findAudit,
  type AuditIntent,
  type AuditJson,
  type AuditPage,
  type AuditQuery,
} from "./audit.ts";
import { attempt, type AttemptWork } from "./attempt.ts";
import { countCompleted, countUndone, type UndoneCounts } from "./count-events.ts";
import { fail } from "./fail.ts";
import { findEvent, type EventDetail, type EventLookup } from "./find-event.ts";
import { countEvents, findEvents, type EventFilter, type EventPage } from "./find-events.ts";
import { findIdentity, type StoredEvent } from "./find-identity.ts";
import { giveUp, type GiveUpAnswer, type GiveUpReason } from "./give-up.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { markEnqueued } from "./mark-enqueued.ts";
import { noteConflicts, type ConflictingDelivery } from "./note-conflicts.ts";
import {
  pendingPage,
  type PendingCursor,
  type PendingEvent,
  type PendingQuery,
} from "./pending-page.ts";
import { readEpochs, writeEpochs } from "./queue-epochs.ts";
import { record } from "./record.ts";
import { replay, type ReplayAnswer } from "./replay.ts";
import { retryMany, type RetryManyAnswer } from "./retry-many.ts";
import { retry, type RetryAnswer } from "./retry.ts";
import { standings, type Standing } from "./standing.ts";
import { runStatement } from "./transaction.ts";
import { unmarkEnqueued } from "./unmark-enqueued.ts";

export interface LedgerOptions {
  /** Milliseconds that the ledger's own statements may take. */
  readonly statementTimeoutMs?: number;
  /** Milliseconds that a statement waits for a row that another transaction holds. */
  readonly lockTimeoutMs?: number;
  /** Milliseconds that Postgres lets a handler's transaction sit idle. Must outlast the handler. */
  readonly idleInTransactionTimeoutMs?: number;
  /** Days that a completed event is known. Default 90. */
  readonly keysDays?: number;
}

/** The Postgres tables that know every event and its status. Safe for any number of processes. */
export interface Ledger {
  accept(events: readonly IncomingEvent[]): Promise<readonly Placement[]>;
  noteConflicts(deliveries: readonly ConflictingDelivery[]): Promise<void>;
  record(jobs: readonly QueuedEvent[]): Promise<readonly Claim[]>;
  attempt(
    key: EventKey,
    attempt: number,
    work: AttemptWork,
    limits: AttemptLimits,
  ): Promise<"completed" | "lost">;
  fail(key: EventKey, attempt: number, failure: AttemptFailure): Promise<"recorded" | "lost">;
  retry(key: EventKey): Promise<RetryAnswer>;
  retryMany(
    keys: readonly EventKey[],
    options?: { dryRun?: boolean },
  ): Promise<readonly RetryManyAnswer[]>;
  replay(
    lookups: readonly EventLookup[],
    options?: { dryRun?: boolean },
  ): Promise<readonly ReplayAnswer[]>;
  markEnqueued(keys: readonly EventKey[]): Promise<void>;
  unmarkEnqueued(keys: readonly EventKey[]): Promise<void>;
  pendingPage(
    cursors: readonly PendingCursor[],
    query: PendingQuery,
  ): Promise<readonly PendingEvent[]>;
  standings(keys: readonly EventKey[]): Promise<readonly (Standing | undefined)[]>;
  readEpochs(): Promise<ReadonlyMap<string, string>>;
  writeEpochs(epochs: ReadonlyMap<string, string>): Promise<void>;
  giveUp(event: EventKey | EnvelopedEvent, reason: GiveUpReason): Promise<GiveUpAnswer>;
  findEvents(filter: EventFilter): Promise<EventPage>;
  countEvents(filter: EventFilter): Promise<number>;
  findEvent(lookup: EventLookup): Promise<EventDetail | undefined>;
  findIdentity(key: EventKey): Promise<StoredEvent | undefined>;
  countUndone(): Promise<ReadonlyMap<string, UndoneCounts>>;
  countCompleted(): Promise<ReadonlyMap<string, number>>;
  activity(query: ActivityQuery): Promise<readonly ActivityRow[]>;
  beginAudit(intent: AuditIntent): Promise<string>;
  endAudit(id: string, result: AuditJson): Promise<void>;
  findAudit(query: AuditQuery): Promise<AuditPage>;
  /** @throws `database_unavailable` when Postgres does not answer in time. */
  ping(): Promise<void>;
}

/**
 * Makes a ledger over a pool of `createPool`. The pool stays the caller's to end. It must hold a
 * connection for each attempt that runs at once, and some for the rest: attempts keep theirs for as
 * long as their handlers run.
 */
export function createLedger(
  deps: { readonly pool: pg.Pool },
  options: LedgerOptions = {},
): Ledger {
  const context = toContext(deps.pool, options);
  return {
    accept: (events) => accept(context, events),
    noteConflicts: (deliveries) => noteConflicts(context, deliveries),
    record: (jobs) => record(context, jobs),
    attempt: (key, number, work, limits) =>
      attempt(context, { key, attempt: number }, work, limits),
    fail: (key, number, failure) => fail(context, { key, attempt: number }, failure),
    retry: (key) => retry(context, key),
    retryMany: (keys, asked) => retryMany(context, keys, asked),
    replay: (lookups, asked) => replay(context, lookups, asked),
    markEnqueued: (keys) => markEnqueued(context, keys),
    unmarkEnqueued: (keys) => unmarkEnqueued(context, keys),
    pendingPage: (cursors, query) => pendingPage(context, cursors, query),
    standings: (keys) => standings(context, keys),
    readEpochs: () => readEpochs(context),
    writeEpochs: (epochs) => writeEpochs(context, epochs),
    giveUp: (event, reason) => giveUp(context, event, reason),
    findEvents: (filter) => findEvents(context, filter),
    countEvents: (filter) => countEvents(context, filter),
    findEvent: (lookup) => findEvent(context, lookup),
    findIdentity: (key) => findIdentity(context, key),
    countUndone: () => countUndone(context),
    countCompleted: () => countCompleted(context),
    activity: (query) => activity(context, query),
    beginAudit: (intent) => beginAudit(context, intent),
    endAudit: (id, result) => endAudit(context, id, result),
    findAudit: (query) => findAudit(context, query),
    ping: async () => {
      await runStatement(context.pool, { text: "SELECT 1" }, context.short);
    },
  };
}

function toContext(pool: pg.Pool, options: LedgerOptions): LedgerContext {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const lockTimeoutMs = options.lockTimeoutMs ?? 2_000;
  const limits = { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs: statementTimeoutMs };
  // Postgres ends a statement by itself; what is later than that will never be answered.
  const deadlineMs = statementTimeoutMs + 2_000;
  return {
    pool,
    short: { limits: { ...limits, indexedOnly: true }, deadlineMs },
    reads: { limits, deadlineMs },
    lockTimeoutMs,
    keysDays: options.keysDays ?? 90,
    idleInTransactionTimeoutMs: options.idleInTransactionTimeoutMs ?? 35_000,
  };
}

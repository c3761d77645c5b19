import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type pg from "pg";
import { transaction, type TransactionOptions } from "./transaction.ts";

export interface LedgerOptions {
  /** Milliseconds that the ledger's own statements may take. */
  readonly statementTimeoutMs?: number;
  /** Milliseconds that a statement waits for a row that another transaction holds. */
  readonly lockTimeoutMs?: number;
  /** Milliseconds that Postgres lets a handler's transaction sit idle. Must be longer than the handler. */
  readonly idleInTransactionTimeoutMs?: number;
  /** Days that a completed event is known. Default 90. */
  readonly keysDays?: number;
}

/** What all functions of the ledger share. */
export interface LedgerContext {
  readonly pool: pg.Pool;
  /** For the ledger's own short transactions, which find every row by an index. */
  readonly short: TransactionOptions;
  /** The same for the prepared statements that find each event by its key. */
  readonly prepared: TransactionOptions;
  /** For reads, whose plan is up to the planner. */
  readonly reads: TransactionOptions;
  /** Days that a completed event is known; a job of an unknown event that is older is not recorded. */
  readonly keysDays: number;
  /** Milliseconds that a handler's transaction waits for a row that another one holds. */
  readonly lockTimeoutMs: number;
  /** Milliseconds that Postgres lets a handler's transaction sit idle. */
  readonly idleInTransactionTimeoutMs: number;
}

/** Fills in the defaults, and the deadlines that follow from them. */
export function createContext(pool: pg.Pool, options: LedgerOptions): LedgerContext {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const lockTimeoutMs = options.lockTimeoutMs ?? 2_000;
  const limits = { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs: statementTimeoutMs };
  // Postgres ends a statement itself; one that takes longer than that will never be answered.
  const deadlineMs = statementTimeoutMs + 2_000;
  return {
    pool,
    short: { limits: { ...limits, indexedOnly: true }, deadlineMs },
    prepared: { limits: { ...limits, planOnce: true }, deadlineMs },
    reads: { limits, deadlineMs },
    lockTimeoutMs,
    keysDays: options.keysDays ?? 90,
    idleInTransactionTimeoutMs: options.idleInTransactionTimeoutMs ?? 35_000,
  };
}

/** Reads through drizzle, with the timeouts of the ledger's own statements. */
export async function read<T>(
  ledger: LedgerContext,
  work: (db: NodePgDatabase) => PromiseLike<T>,
): Promise<T> {
  return await transaction(
    ledger.pool,
    async (client) => await work(drizzle(client)),
    ledger.reads,
  );
}

import type { SourceRules } from "@millrace/core";
import {
  createTableRelationsHelpers,
  extractTablesRelationalConfig,
  type RelationalSchemaConfig,
  type TablesRelationalConfig,
} from "drizzle-orm";
import type pg from "pg";
import type { ConnectionReset } from "./connection.ts";
import { INDEXED_ONLY, PLAN_BY_KEY, transaction, type TransactionOptions } from "./transaction.ts";

export interface LedgerOptions extends Partial<SourceRules> {
  /** Milliseconds that the ledger's own statements may take. */
  readonly statementTimeoutMs?: number;
  readonly lockTimeoutMs?: number;
  /** Milliseconds that a handler's transaction may sit idle; longer than the handler runs. */
  readonly idleInTransactionTimeoutMs?: number;
  /** Days that a completed event is known. Default 90. */
  readonly keysDays?: number;
  readonly schema?: Record<string, unknown> | undefined;
  readonly onReset?: ((reset: ConnectionReset) => void) | undefined;
}

export type UserTables = RelationalSchemaConfig<TablesRelationalConfig>;

export interface LedgerContext extends SourceRules {
  readonly pool: pg.Pool;
  /** For the ledger's own short transactions, which find every row by an index. */
  readonly short: TransactionOptions;
  readonly prepared: TransactionOptions;
  /** For reads, whose plan is up to the planner. */
  readonly reads: TransactionOptions;
  readonly keysDays: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
  readonly tables: UserTables | undefined;
  readonly onReset: LedgerOptions["onReset"];
}

export function createContext(pool: pg.Pool, options: LedgerOptions): LedgerContext {
  const statementTimeoutMs = options.statementTimeoutMs ?? 10_000;
  const lockTimeoutMs = options.lockTimeoutMs ?? 2_000;
  const limits = { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs: statementTimeoutMs };
  // Postgres ends a statement itself; one that takes longer will never be answered.
  const deadlineMs = statementTimeoutMs + 2_000;
  return {
    pool,
    short: { limits: { ...limits, planning: INDEXED_ONLY }, deadlineMs },
    prepared: { limits: { ...limits, planning: PLAN_BY_KEY }, deadlineMs },
    reads: { limits, deadlineMs },
    lockTimeoutMs,
    keysDays: options.keysDays ?? 90,
    idleInTransactionTimeoutMs: options.idleInTransactionTimeoutMs ?? 35_000,
    bodyDedup: options.bodyDedup ?? (() => true),
    attemptFields: options.attemptFields ?? (() => []),
    find: options.find ?? new Map(),
    tables: options.schema && readTables(options.schema),
    onReset: options.onReset,
  };
}

function readTables(schema: Record<string, unknown>): UserTables {
  const { tables, tableNamesMap } = extractTablesRelationalConfig(
    schema,
    createTableRelationsHelpers,
  );
  return { fullSchema: schema, schema: tables, tableNamesMap };
}

export async function read<T>(
  ledger: LedgerContext,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return await transaction(ledger.pool, work, ledger.reads);
}

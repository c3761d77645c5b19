import type { SourceRules } from "@millrace/core";
import {
  createTableRelationsHelpers,
  extractTablesRelationalConfig,
  type RelationalSchemaConfig,
  type TablesRelationalConfig,
} from "drizzle-orm";
import type pg from "pg";
import { withPartitions } from "../schema/bodies.ts";
import type { ConnectionReset } from "./connection.ts";
import { databaseReadOnly } from "./database-errors.ts";
import {
  INDEXED_ONLY,
  PLAN_BY_KEY,
  runStatement,
  runStatementOn,
  transaction,
  withConnection,
  type Send,
  type TransactionOptions,
} from "./transaction.ts";

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
  /** Sends a statement in such a transaction. */
  readonly send: Send;
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
  // Postgres ends a statement itself; one that takes longer will never be answered.
  const deadlineMs = statementTimeoutMs + 2_000;
  const reads = { statementTimeoutMs, lockTimeoutMs, deadlineMs };
  const short = { ...reads, planning: INDEXED_ONLY };
  return {
    pool,
    short,
    send: (query) => withPartitions(pool, () => runStatement(pool, query, short)),
    prepared: { ...reads, planning: PLAN_BY_KEY },
    reads,
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

/** Rows of a read. What writes, or must find each row by an index, is sent by `ledger.send`. */
export async function queryRows<Row extends pg.QueryResultRow>(
  { pool, reads }: LedgerContext,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return (await runStatement<Row>(pool, { text, values }, reads)).rows;
}

export async function queryWireRows<Row extends object>(
  ledger: LedgerContext,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  return (await queryRows(ledger, text, values)).map((row) => toWire(row) as Row);
}

type WireRow<Row> = {
  [Name in keyof Row]: Date extends Row[Name] ? Exclude<Row[Name], Date> | string : Row[Name];
};

/** The driver gives instants as Dates. */
export function toWire<Row extends object>(row: Row): WireRow<Row> {
  const entries = Object.entries(row).map(([name, value]) => [
    name,
    value instanceof Date ? value.toISOString() : value,
  ]);
  return Object.fromEntries(entries);
}

const IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on' AS found";

/**
 * Asks Postgres whether it takes writes, with a COMMIT, because a server whose commits hang takes
 * none. Closes a connection that does not, so that the next one looks up the server's name again.
 * @throws `database_read_only` on a standby, or where writes are switched off
 */
export async function ping({ pool, short }: LedgerContext): Promise<void> {
  await withConnection(pool, short.deadlineMs, async (connection) => {
    const query = { text: IS_READ_ONLY };
    const { rows } = await runStatementOn<{ found: boolean }>(connection.client, query, short);
    if (rows[0]?.found !== true) return;
    connection.discard();
    throw databaseReadOnly();
  });
}

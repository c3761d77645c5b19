import type pg from "pg";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatement, type TransactionOptions } from "./transaction.ts";

export async function queryRows<Row extends pg.QueryResultRow>(
  { pool, reads }: LedgerContext,
  text: string,
  values: unknown[] = [],
  options: TransactionOptions = reads,
): Promise<Row[]> {
  return (await runStatement<Row>(pool, { text, values }, options)).rows;
}

export async function queryWireRows<Row extends object>(
  ledger: LedgerContext,
  text: string,
  values: unknown[] = [],
  options: TransactionOptions = ledger.reads,
): Promise<Row[]> {
  return (await queryRows(ledger, text, values, options)).map((row) => toWire(row) as Row);
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

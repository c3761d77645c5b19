import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { databaseUnavailable, ledgerError } from "./database-errors.ts";
import { lease, pipeline, type Lease } from "./connection.ts";

/** Timeouts that Postgres enforces within one transaction, in milliseconds. */
export interface TransactionLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /**
   * Keeps the planner from sequential scans. A statement that was prepared while its table was small
   * keeps its plan, and would go on to read all of a table that has grown since.
   */
  readonly indexedOnly?: boolean;
  /** Plans a prepared statement once in a connection, as `PLAN_BY_KEY` does. It finds rows by indexes only. */
  readonly planOnce?: boolean;
}

/**
 * For the statements that find each event by its key, in a transaction: they are planned once in a connection.
 * Postgres would plan them for the length of their arrays each time, which takes longer than to run them for
 * one event. Sequential scans are off, as with `indexedOnly`. What handlers run is planned as they like:
 * `PLAN_FOR_HANDLERS` is part of the statement that runs before them.
 */
export const PLAN_BY_KEY =
  "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan";
export const PLAN_FOR_HANDLERS =
  "set_config('enable_seqscan', 'on', true), set_config('plan_cache_mode', 'auto', true)";

export interface TransactionOptions {
  readonly limits: TransactionLimits;
  /** Milliseconds until the connection is destroyed, whatever it is doing. For a server that does not
   * answer at all: it must be longer than `limits`, which Postgres enforces itself. */
  readonly deadlineMs: number;
}

/**
 * Runs `work` in a transaction: its writes are committed if and only if this resolves. An error of `work`
 * rolls them back and is rethrown. A connection that did not answer everything cleanly is closed and
 * never reused. When the connection is lost during COMMIT, the outcome is unknown: that is thrown as
 * `database_unavailable`, and only the rows can tell.
 *
 * @throws `database_unavailable`, `illegal_transition`, or what `work` threw.
 */
export async function transaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  return await withLease(pool, options.deadlineMs, async (held) => {
    await held.client.query(beginText(options.limits));
    const result = await work(held.client);
    requireCommitted(await held.client.query("COMMIT"));
    return result;
  });
}

/** Runs one statement in its own transaction, sent in one round trip with its BEGIN and COMMIT. */
export async function runStatement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: pg.QueryConfig,
  options: TransactionOptions,
): Promise<pg.QueryResult<Row>> {
  return await withLease(pool, options.deadlineMs, async ({ client }) => {
    const [, result, commit] = await pipeline(client, [
      { text: beginText(options.limits) },
      query,
      { text: "COMMIT" },
    ]);
    requireCommitted(commit);
    return result as pg.QueryResult<Row>;
  });
}

/** BEGIN with its timeouts, in one string and one round trip. */
function beginText(limits: TransactionLimits): string {
  return [
    "BEGIN",
    `SET LOCAL statement_timeout = ${Math.ceil(limits.statementTimeoutMs)}`,
    `SET LOCAL lock_timeout = ${Math.ceil(limits.lockTimeoutMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(limits.idleTimeoutMs)}`,
    ...(limits.planOnce === true ? [PLAN_BY_KEY] : []),
    ...(limits.indexedOnly === true ? ["SET LOCAL enable_seqscan = off"] : []),
  ].join("; ");
}

/**
 * Checks the tag of a COMMIT. COMMIT of an aborted transaction does not fail: it answers ROLLBACK.
 *
 * @throws `internal`
 */
export function requireCommitted(commit: pg.QueryResult | undefined): void {
  if (commit?.command === "COMMIT") return;
  throw new MillraceError(
    "internal",
    `Cannot commit the transaction: Postgres answered ${commit?.command ?? "nothing"}`,
  );
}

/** Rolls back what is open on a connection, and destroys the connection if that does not answer. */
export async function rollback(held: Lease): Promise<void> {
  if (held.broken || held.client.getTransactionStatus() === "I") return;
  try {
    await held.client.query("ROLLBACK");
  } catch {
    // The first error says what went wrong; this one only says that the connection is broken.
    held.destroy();
  }
}

async function withLease<T>(
  pool: pg.Pool,
  deadlineMs: number,
  body: (held: Lease) => Promise<T>,
): Promise<T> {
  const held = await lease(pool);
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      held.destroy();
      reject(databaseUnavailable(new Error(`no answer within ${deadlineMs} ms`)));
    }, deadlineMs);
  });
  try {
    return await Promise.race([runOrUndo(held, body), deadline]);
  } catch (error) {
    throw ledgerError(error);
  } finally {
    clearTimeout(timer);
    held.release();
  }
}

async function runOrUndo<T>(held: Lease, body: (held: Lease) => Promise<T>): Promise<T> {
  try {
    return await body(held);
  } catch (error) {
    await rollback(held);
    throw error;
  }
}

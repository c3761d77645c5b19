import { MillraceError, unlessAborted, type StopSignal } from "@millrace/core";
import type pg from "pg";
import { databaseUnavailable, ledgerError } from "./database-errors.ts";
import { acquireConnection, end, type PooledConnection } from "./connection.ts";
import { SessionSettings } from "./pinned-settings.ts";
import { command, pipeline, type Statement } from "./pipeline.ts";
import { SQLSTATE } from "./sqlstate.ts";

export interface TransactionOptions {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  /** Default: `statementTimeoutMs`. */
  readonly idleTimeoutMs?: number;
  readonly planning?: readonly string[];
  /** Milliseconds until the connection is destroyed; longer than what a statement may take. */
  readonly deadlineMs: number;
}

/** A plan from when the table was small would scan all of it later. */
export const INDEXED_ONLY = ["SET LOCAL enable_seqscan = off"];

/** Planned once in a connection: planning for each length of arrays takes longer than running. */
export const PLAN_BY_KEY = [...INDEXED_ONLY, "SET LOCAL plan_cache_mode = force_generic_plan"];
const PLAN_FOR_HANDLERS =
  "set_config('enable_seqscan', 'on', true), set_config('plan_cache_mode', 'auto', true)";

/**
 * For a login named like our schema: a user's unqualified tables are made in `public` and not
 * among our own; those that are among ours are still found there.
 */
export const PATH_FOR_HANDLERS = `CASE
    WHEN current_user = 'millrace' AND current_setting('search_path') = '"$user", public'
      AND has_schema_privilege(to_regnamespace('public'), 'CREATE')
    THEN set_config('search_path', 'public, "$user"', true)
  END`;

/**
 * Costs less in the statement that runs before the handlers than a SET for each limit. By the lock
 * the guards know a handler's transaction (`millrace.in_handler`).
 */
export const LIMIT_HANDLERS = `pg_advisory_xact_lock(1835627378, pg_backend_pid()),
    set_config('lock_timeout', :lockTimeout, true),
    set_config('statement_timeout', :statementTimeout, true),
    set_config('idle_in_transaction_session_timeout', :idleTimeout, true),
    ${PLAN_FOR_HANDLERS}, ${PATH_FOR_HANDLERS}`;

export function handlerLimits(limits: {
  readonly lockTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}) {
  const text = (milliseconds: number) => String(Math.ceil(milliseconds));
  return {
    lockTimeout: text(limits.lockTimeoutMs),
    statementTimeout: text(limits.statementTimeoutMs),
    idleTimeout: text(limits.idleInTransactionTimeoutMs),
  };
}

export const REFUSE_TRANSACTION = `millrace.refuse(
    'Cannot complete the event: the handler has left its transaction, and what it wrote there may be committed',
    '${SQLSTATE.transactionChanged}')`;

export const REFUSE_COMPLETION =
  "millrace.refuse('Cannot complete first attempts: they are not all this transaction''s to complete')";

/**
 * Runs `work` in a transaction, which an error rolls back. When the connection is lost during
 * COMMIT, the outcome is unknown: `database_unavailable`, and only the rows show it.
 * @throws `illegal_transition`, or an error of `work`
 */
export async function transaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  return await withConnection(pool, options.deadlineMs, async (connection) => {
    await pipeline(connection.client, begin(connection.client, options));
    const result = await work(connection.client);
    requireCommitted(await connection.client.query("COMMIT"));
    return result;
  });
}

export type Send = <Row extends pg.QueryResultRow>(
  query: pg.QueryConfig,
) => Promise<pg.QueryResult<Row>>;

export async function runStatement<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  query: pg.QueryConfig,
  options: TransactionOptions,
  before: readonly pg.QueryConfig[] = [],
): Promise<pg.QueryResult<Row>> {
  return await withConnection(pool, options.deadlineMs, ({ client }) =>
    runStatementOn<Row>(client, query, options, before),
  );
}

export async function runStatementOn<Row extends pg.QueryResultRow>(
  client: pg.PoolClient,
  query: pg.QueryConfig,
  options: TransactionOptions,
  before: readonly pg.QueryConfig[] = [],
): Promise<pg.QueryResult<Row>> {
  const results = await pipeline(client, [
    ...begin(client, options),
    ...before,
    query,
    command("COMMIT"),
  ]);
  const [result, commit] = results.slice(-2);
  requireCommitted(commit);
  return result as pg.QueryResult<Row>;
}

function begin(client: pg.PoolClient, options: TransactionOptions): Statement[] {
  const { statementTimeoutMs, lockTimeoutMs, idleTimeoutMs = statementTimeoutMs } = options;
  return beginWith(client, [
    `SET LOCAL statement_timeout = ${Math.ceil(statementTimeoutMs)}`,
    `SET LOCAL lock_timeout = ${Math.ceil(lockTimeoutMs)}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${Math.ceil(idleTimeoutMs)}`,
    ...(options.planning ?? []),
  ]);
}

export function beginWith(client: pg.PoolClient, texts: readonly string[]): Statement[] {
  return [...SessionSettings.begin(client), ...texts].map(command);
}

/** COMMIT of an aborted transaction answers ROLLBACK. @throws `internal` */
export function requireCommitted(commit: pg.QueryResult | undefined): void {
  if (commit?.command === "COMMIT") return;
  throw new MillraceError(
    "internal",
    `Cannot commit the transaction: Postgres answered ${commit?.command ?? "nothing"}`,
  );
}

/** Rolls back and cleans a connection, and destroys it if that does not answer. */
export async function rollback(connection: PooledConnection): Promise<void> {
  if (connection.broken || connection.client.getTransactionStatus() === "I") return;
  try {
    await end(connection, "ROLLBACK");
  } catch {
    // The first error says what went wrong; this one only says that the connection is broken.
    connection.destroy();
  }
}

/** The connection of a stopped attempt is destroyed: a query of the handler may still run. */
export async function rollbackAttempt(
  connection: PooledConnection,
  signal: StopSignal,
): Promise<void> {
  if (signal.aborted) {
    connection.destroy();
    return;
  }
  try {
    await unlessAborted(signal, rollback(connection));
  } catch {
    connection.destroy();
  }
}

/** Destroys the connection after `deadlineMs`. After an error, what is open is rolled back. */
export async function withConnection<T>(
  pool: pg.Pool,
  deadlineMs: number,
  body: (connection: PooledConnection) => Promise<T>,
): Promise<T> {
  const connection = await acquireConnection(pool);
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      connection.destroy();
      reject(databaseUnavailable(new Error(`no answer within ${deadlineMs} ms`)));
    }, deadlineMs);
  });
  try {
    return await Promise.race([runOrUndo(connection, body), deadline]);
  } catch (error) {
    throw ledgerError(error);
  } finally {
    clearTimeout(timer);
    connection.release();
  }
}

async function runOrUndo<T>(
  connection: PooledConnection,
  body: (connection: PooledConnection) => Promise<T>,
): Promise<T> {
  try {
    return await body(connection);
  } catch (error) {
    await rollback(connection);
    throw error;
  }
}

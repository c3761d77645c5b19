import { MillraceError } from "@millrace/core";
import type pg from "pg";
import { ledgerError } from "../connection/database-errors.ts";
import {
  LEDGER_MIGRATIONS,
  LEDGER_SCOPE,
  pendingMigrations,
  readApplied,
  readMigrations,
  type Migration,
} from "./migrations.ts";
import { ensurePartitions } from "./bodies.ts";
import { readServerFacts, requireSupported } from "../connection/server-facts.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { PATH_FOR_HANDLERS, runStatement, transaction } from "../connection/transaction.ts";

const HOUR_MS = 3_600_000;
const LIMITS = { statementTimeoutMs: 0, lockTimeoutMs: 0, idleTimeoutMs: 60_000 };
const TIMES = { ...LIMITS, deadlineMs: HOUR_MS };

const BOOKKEEPING = `
CREATE SCHEMA IF NOT EXISTS millrace;
CREATE TABLE IF NOT EXISTS millrace.migrations (
  scope text NOT NULL,
  number integer NOT NULL,
  name text NOT NULL,
  checksum text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, number)
);`;

interface MigrateOptions {
  readonly pool: pg.Pool;
  readonly scope?: string;
  readonly folder?: string;
}

/**
 * Applies the missing migrations in one transaction; a second migrator waits. Returns their names.
 * @throws `postgres_too_old`, `migration_changed`, `migration_unknown`, `invalid_config`, or an
 * error that names the migration, with Postgres' error as its cause.
 */
export async function migrate({
  pool,
  scope = LEDGER_SCOPE,
  folder = LEDGER_MIGRATIONS,
}: MigrateOptions): Promise<string[]> {
  const files = await readMigrations(folder);
  const work = (client: pg.PoolClient) => applyMissing(client, scope, files);
  const applied = await transaction(pool, work, TIMES);
  if (scope === LEDGER_SCOPE && (await ownsPartitions(pool))) await ensurePartitions(pool);
  return applied;
}

const OWNS_PARTITIONS = `
SELECT pg_catalog.pg_get_userbyid(proowner) = current_user AS owns FROM pg_catalog.pg_proc
WHERE oid = 'millrace.ensure_partitions(integer)'::regprocedure`;

/** Otherwise workers make them: this login must not run a function that another can replace. */
async function ownsPartitions(pool: pg.Pool): Promise<boolean> {
  const { rows } = await runStatement<{ owns: boolean }>(pool, { text: OWNS_PARTITIONS }, TIMES);
  return rows[0]?.owns === true;
}

async function applyMissing(
  client: pg.PoolClient,
  scope: string,
  files: readonly Migration[],
): Promise<string[]> {
  await client.query("SELECT pg_advisory_xact_lock(hashtextextended('millrace.migrate', 0))");
  requireSupported(await readServerFacts(client));
  await requireUtf8(client);
  await client.query("SET LOCAL client_min_messages = warning");
  await client.query(BOOKKEEPING);
  if (scope !== LEDGER_SCOPE) await client.query(`SELECT ${PATH_FOR_HANDLERS}`);
  const missing = pendingMigrations(files, await readApplied(client, scope), scope);
  if (missing.length > 0 && scope === LEDGER_SCOPE) await lockEvents(client);
  for (const migration of missing) await apply(client, scope, migration);
  return missing.map(({ number, name }) => `${String(number).padStart(4, "0")}_${name}`);
}

/** Seconds that the lock on the events is waited for, one time after the other. */
const LOCK_WAITS_S = [1, 2, 4, 8, 16, 32, 64];

// A migration that locked the table more strictly than those before would deadlock with attempts.
// Everyone else waits behind a lock that is waited for, so the first wait is short.
async function lockEvents(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ known: boolean }>(
    "SELECT to_regclass('millrace.events') IS NOT NULL AS known",
  );
  if (rows[0]?.known !== true) return;
  for (const [index, seconds] of LOCK_WAITS_S.entries()) {
    await client.query(`SAVEPOINT unlocked; SET LOCAL lock_timeout = '${seconds}s'`);
    try {
      await client.query("LOCK TABLE millrace.events IN ACCESS EXCLUSIVE MODE");
      break;
    } catch (error) {
      const isLast = index === LOCK_WAITS_S.length - 1;
      if (isLast || sqlStateOf(error) !== SQLSTATE.lockNotAvailable) throw error;
      await client.query("ROLLBACK TO SAVEPOINT unlocked");
    }
  }
  await client.query(`SET LOCAL lock_timeout = ${LIMITS.lockTimeoutMs}`);
}

async function requireUtf8(client: pg.PoolClient): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>("SHOW server_encoding");
  const encoding = rows[0]?.server_encoding;
  if (encoding === "UTF8") return;
  throw new MillraceError(
    "invalid_config",
    `Cannot migrate the database: its encoding is ${encoding}, and events need UTF8`,
  );
}

async function apply(
  client: pg.PoolClient,
  scope: string,
  { number, name, path, checksum, text }: Migration,
): Promise<void> {
  const before = await transactionId(client);
  let completed = 0;
  const count = () => (completed += 1);
  client.connection.on("commandComplete", count);
  try {
    await client.query(text);
  } catch (error) {
    const known = ledgerError(error);
    if (known !== error) throw known;
    const where = `${path}:${lineOf(error, text, completed)}`;
    const reason = error instanceof Error ? error.message : String(error);
    throw new MillraceError(
      scope === LEDGER_SCOPE ? "internal" : "invalid_config",
      `Cannot apply migration ${number} "${name}" of "${scope}": ${reason} (${where})`,
      { cause: error },
    );
  } finally {
    client.connection.off("commandComplete", count);
  }
  if (client.getTransactionStatus() !== "T" || (await transactionId(client)) !== before) {
    throw new MillraceError(
      "invalid_config",
      `Cannot apply migration ${number} "${name}" of "${scope}": it begins or ends a transaction`,
    );
  }
  await client.query(
    "INSERT INTO millrace.migrations (scope, number, name, checksum) VALUES ($1, $2, $3, $4)",
    [scope, number, name, checksum],
  );
}

async function transactionId(client: pg.PoolClient): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>("SELECT pg_current_xact_id()::text AS id");
  return rows[0]?.id;
}

/** Texts, names, comments, and functions' bodies: a semicolon in them ends no statement. */
const SQL_TOKENS = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[^]*?\*\/|(\$\w*\$)[^]*?\1|;/g;
const BEFORE_STATEMENT = /^(?:\s|--[^\n]*|\/\*[^]*?\*\/)*/;

/** The line where Postgres found the error, or where the statement begins that ran into it. */
function lineOf(error: unknown, text: string, completed: number): number {
  const linesIn = (part: string) => part.split("\n").length;
  if (error instanceof Error && "position" in error && error.position !== undefined) {
    return linesIn(text.slice(0, Number(error.position)));
  }
  const ends = [...text.matchAll(SQL_TOKENS)].filter(([token]) => token === ";");
  const begin = completed === 0 ? 0 : (ends[completed - 1]?.index ?? 0) + 1;
  const [blank = ""] = BEFORE_STATEMENT.exec(text.slice(begin)) ?? [];
  return linesIn(text.slice(0, begin) + blank);
}

import type pg from "pg";
import { databaseReadOnly } from "../connection/database-errors.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { runStatement } from "../connection/transaction.ts";

/** Which Postgres this is, and how far it has come. */
export interface ServerEpoch {
  /**
   * Of the cluster, given by initdb. Empty where this login, or this kind of server, may not read
   * it.
   */
  readonly systemId: string;
  /** It rises with each promotion and each recovery to a point in time. Empty as above. */
  readonly timeline: string;
  /** Bytes of WAL that are on disk, from the cluster's beginning; 0 as above. */
  readonly position: number;
  /** When the server started: a restored folder or a promoted standby has another time. */
  readonly startedAtMs: number;
}

/**
 * The position that is on disk, and not the one that is written: what a crash may take back must
 * not count as lost.
 *
 * @see https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-CONTROLDATA
 */
const WHOLE = `
SELECT system_identifier::text AS "systemId",
  substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) AS timeline,
  (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::float8 AS position,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS "startedAtMs"
FROM pg_control_system()`;

/** The facts that every server shows every login. */
const START_ONLY = `
SELECT '' AS "systemId", '' AS timeline, 0::float8 AS position,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS "startedAtMs"`;

/** The identity of a database, which is the same in a copy that streams from it. */
export interface DatabaseIdentity {
  /** Of the cluster; undefined where this login, or this kind of server, may not read it. */
  readonly systemId: string | undefined;
  readonly database: string;
}

const IDENTITY = `
SELECT system_identifier::text AS "systemId", current_database() AS database FROM pg_control_system()`;
const NAME_ONLY = `SELECT NULL AS "systemId", current_database() AS database`;

/** Pools whose server refuses the whole statement: asked again, it would log an error each time. */
const restricted = new WeakSet<pg.Pool>();

/**
 * Reads which Postgres this is.
 *
 * @throws `database_read_only` on a standby, whose position is its primary's;
 * `database_unavailable`
 */
export async function serverEpoch(ledger: LedgerContext): Promise<ServerEpoch> {
  try {
    return await askWhole<ServerEpoch>(ledger, WHOLE, START_ONLY);
  } catch (error) {
    const isStandby = sqlStateOf(error) === SQLSTATE.objectNotInPrerequisiteState;
    throw isStandby ? databaseReadOnly(error) : error;
  }
}

/**
 * Reads which database this is, also of a standby.
 *
 * @throws `database_unavailable`
 */
export async function databaseIdentity(ledger: LedgerContext): Promise<DatabaseIdentity> {
  const { systemId, database } = await askWhole<
    Pick<DatabaseIdentity, "database"> & { systemId: string | null }
  >(ledger, IDENTITY, NAME_ONLY);
  return { systemId: systemId ?? undefined, database };
}

/** Asks for the whole, or where the server refuses that for the rest. */
async function askWhole<Row extends Record<keyof Row, unknown>>(
  ledger: LedgerContext,
  whole: string,
  rest: string,
): Promise<Row> {
  const ask = async (text: string): Promise<Row> => {
    const { rows } = await runStatement<Row>(ledger.pool, { text }, ledger.reads);
    const [row] = rows;
    if (row === undefined) throw new Error("Cannot identify Postgres: it gave no row");
    return row;
  };
  if (restricted.has(ledger.pool)) return await ask(rest);
  try {
    return await ask(whole);
  } catch (error) {
    const state = sqlStateOf(error);
    const isRefused =
      state === SQLSTATE.insufficientPrivilege || state === SQLSTATE.featureNotSupported;
    if (!isRefused) throw error;
    restricted.add(ledger.pool);
    return await ask(rest);
  }
}

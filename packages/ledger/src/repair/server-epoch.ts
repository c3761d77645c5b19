import type pg from "pg";
import { databaseReadOnly } from "../connection/database-errors.ts";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";
import { queryRows } from "../connection/rows.ts";

export interface ServerEpoch {
  /** Of the cluster, given by initdb. Empty where this login or server does not show it. */
  readonly systemId: string;
  /** It rises with each promotion and each recovery to a point in time. Empty as above. */
  readonly timeline: string;
  /** Bytes of WAL that are on disk, from the cluster's beginning; 0 as above. */
  readonly position: number;
  /** When the server started: a restored folder or a promoted standby has another time. */
  readonly startedAtMs: number;
}

/**
 * The position on disk, not the written one: a crash can take back the difference.
 * @see https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-PG-CONTROLDATA
 */
const WHOLE = `
SELECT system_identifier::text AS "systemId",
  substr(pg_walfile_name(pg_current_wal_flush_lsn()), 1, 8) AS timeline,
  (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::float8 AS position,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS "startedAtMs"
FROM pg_control_system()`;

/** The part that every server shows every login. */
const START_ONLY = `
SELECT '' AS "systemId", '' AS timeline, 0::float8 AS position,
  (extract(epoch FROM pg_postmaster_start_time()) * 1000)::float8 AS "startedAtMs"`;

/** Pools whose server refuses the whole statement: asked again, it would log an error each time. */
const restricted = new WeakSet<pg.Pool>();

/** @throws `database_read_only` on a standby, whose position is its primary's */
export async function serverEpoch(ledger: LedgerContext): Promise<ServerEpoch> {
  try {
    return await askEpoch(ledger);
  } catch (error) {
    const isStandby = sqlStateOf(error) === SQLSTATE.objectNotInPrerequisiteState;
    throw isStandby ? databaseReadOnly(error) : error;
  }
}

async function askEpoch(ledger: LedgerContext): Promise<ServerEpoch> {
  const ask = async (text: string): Promise<ServerEpoch> => {
    const [row] = await queryRows<ServerEpoch>(ledger, text);
    if (row === undefined) throw new Error("Cannot identify Postgres: it gave no row");
    return row;
  };
  if (restricted.has(ledger.pool)) return await ask(START_ONLY);
  try {
    return await ask(WHOLE);
  } catch (error) {
    const state = sqlStateOf(error);
    const isRefused =
      state === SQLSTATE.insufficientPrivilege || state === SQLSTATE.featureNotSupported;
    if (!isRefused) throw error;
    restricted.add(ledger.pool);
    return await ask(START_ONLY);
  }
}

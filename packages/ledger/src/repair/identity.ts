import { hasCode, MillraceError, type DatabaseName, type LedgerName } from "@millrace/core";
import type pg from "pg";
import { queryRows, type LedgerContext } from "../connection/ledger-context.ts";
import { databaseReadOnly } from "../connection/database-errors.ts";
import { SQLSTATE, sqlStateOf } from "../connection/sqlstate.ts";

export interface LedgerIdentity extends LedgerName {
  /** The database that workers of this ledger ran on; undefined before the first. */
  readonly ranOn: DatabaseName | undefined;
  /** Undefined while no worker had a key of jobs. */
  readonly signedSinceMs: number | undefined;
}

const READ = `
SELECT i.id::text AS ledger, d.oid::text AS oid,
  CASE WHEN i.database_oid IS NOT NULL THEN
    json_build_object('systemId', coalesce(i.system_id, ''), 'oid', i.database_oid::text)
  END AS "ranOn",
  (extract(epoch FROM i.signed_since) * 1000)::float8 AS "signedSinceMs"
FROM millrace.identity i
CROSS JOIN pg_catalog.pg_database d WHERE d.datname = current_database()`;

interface Row extends Pick<LedgerName, "ledger" | "oid"> {
  readonly ranOn: DatabaseName | null;
  readonly signedSinceMs: number | null;
}

export async function readIdentity(ledger: LedgerContext): Promise<LedgerIdentity> {
  const [{ systemId, startedAtMs }, [row]] = await Promise.all([
    serverEpoch(ledger).catch(ofStandby),
    queryRows<Row>(ledger, READ),
  ]);
  if (row === undefined) throw new Error("Cannot identify the ledger: millrace.identity is empty");
  return {
    ...{ ledger: row.ledger, oid: row.oid, systemId, startedAtMs: Math.round(startedAtMs) },
    ranOn: row.ranOn ?? undefined,
    signedSinceMs: row.signedSinceMs ?? undefined,
  };
}

/** A standby does not show its server's position, and no worker runs on it. */
function ofStandby(error: unknown): Pick<ServerEpoch, "systemId" | "startedAtMs"> {
  if (hasCode(error, "database_read_only")) return { systemId: "", startedAtMs: 0 };
  throw error;
}

const KEEP = `
UPDATE millrace.identity SET
  system_id = coalesce(nullif($1, ''), system_id), database_oid = $2::oid,
  signed_since = CASE WHEN $3 THEN coalesce(signed_since, clock_timestamp()) ELSE signed_since END
WHERE database_oid IS DISTINCT FROM $2::oid OR system_id IS DISTINCT FROM coalesce(nullif($1, ''), system_id)
  OR ($3 AND signed_since IS NULL)`;

export async function keepIdentity(
  ledger: LedgerContext,
  { systemId, oid }: DatabaseName,
  { signs }: { readonly signs: boolean },
): Promise<void> {
  await ledger.send({ text: KEEP, values: [systemId, oid, signs] });
}

/** Fails pending events of a copy: the original runs them, so here only a person's retry does. */
const ADOPT = `
WITH adopted AS (
  UPDATE millrace.identity SET id = gen_random_uuid(), system_id = nullif($1, ''), database_oid = $2::oid
  WHERE id = $3::uuid RETURNING id
), held AS (
  UPDATE millrace.events SET status = 'failed', processed_at = clock_timestamp(),
    last_error_code = 'given_up', last_error = 'Held: this ledger was copied from another, which runs the event',
    next_attempt_at = NULL, enqueued_at = NULL
  WHERE $4 AND status = 'pending' AND EXISTS (SELECT FROM adopted)
  RETURNING true
)
SELECT (SELECT id::text FROM adopted) AS ledger, (SELECT count(*)::int FROM held) AS held`;

/** Gives a copied ledger an id of its own. Returns how many pending events were failed. */
export async function adoptLedger(
  ledger: LedgerContext,
  { ledger: id, systemId, oid }: LedgerIdentity,
  { holdPending }: { readonly holdPending: boolean },
): Promise<{ readonly ledger: string; readonly held: number }> {
  type Adopted = { readonly ledger: string | null; readonly held: number };
  const rows = await queryRows<Adopted>(ledger, ADOPT, [systemId, oid, id, holdPending]);
  const [{ ledger: adopted, held } = { ledger: null, held: 0 }] = rows;
  if (adopted !== null) return { ledger: adopted, held };
  throw new MillraceError("ledger_moved", "Cannot adopt the ledger: somebody else just did");
}

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
  const ask = async (text: string): Promise<ServerEpoch> => {
    const [row] = await queryRows<ServerEpoch>(ledger, text);
    if (row === undefined) throw new Error("Cannot identify Postgres: it gave no row");
    return row;
  };
  try {
    if (!restricted.has(ledger.pool)) return await ask(WHOLE);
  } catch (error) {
    const state = sqlStateOf(error) ?? "";
    if (state === SQLSTATE.objectNotInPrerequisiteState) throw databaseReadOnly(error);
    const refusals: string[] = [SQLSTATE.insufficientPrivilege, SQLSTATE.featureNotSupported];
    if (!refusals.includes(state)) throw error;
    restricted.add(ledger.pool);
  }
  return await ask(START_ONLY);
}

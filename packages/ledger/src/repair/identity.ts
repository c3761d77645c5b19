import { hasCode, MillraceError, type DatabaseName, type LedgerName } from "@millrace/core";
import type { LedgerContext } from "../connection/ledger-context.ts";
import { queryRows } from "../connection/rows.ts";
import { serverEpoch, type ServerEpoch } from "./server-epoch.ts";

export interface LedgerIdentity extends LedgerName {
  /** The database that workers of this ledger ran on; undefined before the first. */
  readonly ranOn: DatabaseName | undefined;
  /** Undefined while no worker had a key of jobs. */
  readonly signedSinceMs: number | undefined;
}

const READ = `
SELECT i.id::text AS ledger, d.oid::text AS oid, i.system_id AS "ranSystemId",
  i.database_oid::text AS "ranOid",
  (extract(epoch FROM i.signed_since) * 1000)::float8 AS "signedSinceMs"
FROM millrace.identity i
CROSS JOIN pg_catalog.pg_database d WHERE d.datname = current_database()`;

interface Row {
  readonly ledger: string;
  readonly oid: string;
  readonly ranSystemId: string | null;
  readonly ranOid: string | null;
  readonly signedSinceMs: number | null;
}

export async function readIdentity(ledger: LedgerContext): Promise<LedgerIdentity> {
  const [{ systemId, startedAtMs }, [row]] = await Promise.all([
    serverEpoch(ledger).catch(ofStandby),
    queryRows<Row>(ledger, READ),
  ]);
  if (row === undefined) throw new Error("Cannot identify the ledger: millrace.identity is empty");
  const { ranOid, ranSystemId, signedSinceMs } = row;
  return {
    ...{ ledger: row.ledger, oid: row.oid, systemId, startedAtMs: Math.round(startedAtMs) },
    ranOn: ranOid === null ? undefined : { systemId: ranSystemId ?? "", oid: ranOid },
    signedSinceMs: signedSinceMs ?? undefined,
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
  await queryRows(ledger, KEEP, [systemId, oid, signs], ledger.short);
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

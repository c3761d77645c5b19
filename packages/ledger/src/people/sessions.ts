import type { SessionEntry } from "@millrace/api-contract";
import { isStorable } from "@millrace/core";
import { cutText } from "../connection/cut-text.ts";
import { queryRows, queryWireRows, type LedgerContext } from "../connection/ledger-context.ts";

export type SeenSession = Pick<SessionEntry, "id" | "user" | "role" | "network"> & {
  readonly expiresAt: Date;
};

const ACTOR_BYTES_MAX = 1_024;

/** Adds a session, also one that began while Postgres was away; drops those expired for a week. */
const SEE_SESSION = `
WITH old AS (
  DELETE FROM millrace.sessions WHERE expires_at < clock_timestamp() - interval '7 days'
)
INSERT INTO millrace.sessions AS session (id, actor, role, network, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()
RETURNING session.ended_at IS NOT NULL AS ended`;

const END_SESSION = `
UPDATE millrace.sessions SET ended_at = clock_timestamp()
WHERE id = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
RETURNING true`;

const FIND_SESSIONS = `
SELECT id, actor AS "user", role, network, started_at, seen_at, expires_at
FROM millrace.sessions
WHERE ended_at IS NULL AND expires_at > clock_timestamp()
ORDER BY started_at DESC, id
LIMIT 1000`;

export async function seeSession(
  ledger: LedgerContext,
  { id, user, role, network, expiresAt }: SeenSession,
): Promise<{ readonly ended: boolean }> {
  const values = [id, cutText(user, ACTOR_BYTES_MAX), role, network, expiresAt];
  const [seen] = await queryRows<{ ended: boolean }>(ledger, SEE_SESSION, values);
  return { ended: seen?.ended === true };
}

export async function endSession(ledger: LedgerContext, id: string): Promise<boolean> {
  if (!isStorable(id)) return false;
  return (await queryRows(ledger, END_SESSION, [id])).length === 1;
}

export async function findSessions(ledger: LedgerContext): Promise<SessionEntry[]> {
  return await queryWireRows<SessionEntry>(ledger, FIND_SESSIONS);
}

import type pg from "pg";
import { ledgerError } from "./database-trouble.ts";

/** Who leads, as Postgres shows it. What a role may not see of others' connections is undefined. */
export interface FoundLeader {
  /** The leader's address; undefined on a local socket, too. */
  readonly address: string | undefined;
  /** Milliseconds since it took the lead, or made sure that it has it. */
  readonly seenMsAgo: number | undefined;
}

/** The two halves of the lock's key are unsigned numbers in pg_locks. */
const FIND = `
SELECT host(a.client_addr) AS address,
  extract(epoch FROM clock_timestamp() - a.state_change)::float8 * 1000 AS seen_ms_ago
FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::bigint << 32 | l.objid::bigint)
    = hashtextextended('millrace.leader.' || $1, 0)`;

/**
 * Finds out who leads under a name; undefined when nobody does.
 *
 * @throws `database_unavailable`
 */
export async function findLeader(pool: pg.Pool, name: string): Promise<FoundLeader | undefined> {
  try {
    const { rows } = await pool.query<{ address: string | null; seen_ms_ago: number | null }>(
      FIND,
      [name],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    return { address: row.address ?? undefined, seenMsAgo: row.seen_ms_ago ?? undefined };
  } catch (error) {
    throw ledgerError(error);
  }
}

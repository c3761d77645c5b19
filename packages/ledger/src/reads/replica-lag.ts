import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

/**
 * A standby that is in step has replayed something of the last seconds: the process that leads
 * writes every 3 s.
 */
const LAG = `SELECT CASE WHEN pg_is_in_recovery() THEN greatest(0, extract(epoch FROM
    clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())) * 1000)::float8
  END AS "lagMs"`;

/**
 * Milliseconds since the last write that this server has, if it is a standby: how far it is behind
 * its primary at most. Undefined on a primary.
 *
 * @throws `database_unavailable`
 */
export async function replicaLagMs(ledger: LedgerContext): Promise<number | undefined> {
  const { rows } = await runStatement<{ lagMs: number | null }>(
    ledger.pool,
    { text: LAG },
    ledger.short,
  );
  return rows[0]?.lagMs ?? undefined;
}

import type { LedgerContext } from "../connection/ledger-context.ts";
import { runStatement } from "../connection/transaction.ts";

const UNSIGNED_UNTIL = `
WITH first AS (
  INSERT INTO millrace.job_signing (unsigned_until) VALUES (now() + make_interval(days => $1::int))
  ON CONFLICT DO NOTHING
  RETURNING unsigned_until
)
SELECT (extract(epoch FROM unsigned_until - now()) * 1000)::float8 AS "leftMs"
FROM (SELECT unsigned_until FROM first UNION ALL SELECT unsigned_until FROM millrace.job_signing) kept
LIMIT 1`;

/**
 * Milliseconds for which jobs without a MAC still run, by the database's clock; negative when the
 * time is over. The first worker with a key begins it, and it ends after `days`.
 *
 * @throws `database_unavailable`
 */
export async function unsignedJobsMs(ledger: LedgerContext, days: number): Promise<number> {
  for (;;) {
    const query = { text: UNSIGNED_UNTIL, values: [days] };
    const { rows } = await runStatement<{ leftMs: number }>(ledger.pool, query, ledger.short);
    if (rows[0] !== undefined) return rows[0].leftMs;
    // Another worker has written the row since the statement's snapshot.
  }
}

/**
 * Notes that jobs are not signed now, so that the time begins when a worker gets a key: jobs wait
 * then that nobody could sign.
 *
 * @throws `database_unavailable`
 */
export async function noteUnsignedJobs(ledger: LedgerContext): Promise<void> {
  await runStatement(ledger.pool, { text: "DELETE FROM millrace.job_signing" }, ledger.reads);
}

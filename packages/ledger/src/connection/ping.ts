import { databaseReadOnly } from "./database-errors.ts";
import type { LedgerContext } from "./ledger-context.ts";
import { runStatementOn, withConnection } from "./transaction.ts";

const IS_READ_ONLY = "SELECT current_setting('transaction_read_only') = 'on' AS found";

/**
 * Asks Postgres whether it takes writes, with a COMMIT, because a server whose commits hang takes
 * none. Closes a connection that does not, so that the next one looks up the server's name again.
 * @throws `database_read_only` on a standby, or where writes are switched off
 */
export async function ping({ pool, short }: LedgerContext): Promise<void> {
  await withConnection(pool, short.deadlineMs, async (connection) => {
    const query = { text: IS_READ_ONLY };
    const { rows } = await runStatementOn<{ found: boolean }>(
      connection.client,
      query,
      short.limits,
    );
    if (rows[0]?.found !== true) return;
    connection.discard();
    throw databaseReadOnly();
  });
}

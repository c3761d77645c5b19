import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type { LedgerContext } from "./ledger-context.ts";
import { transaction } from "./transaction.ts";

/** Reads through drizzle, within the times of the ledger's own statements. */
export async function read<T>(
  ledger: LedgerContext,
  work: (db: NodePgDatabase) => PromiseLike<T>,
): Promise<T> {
  return await transaction(
    ledger.pool,
    async (client) => await work(drizzle(client)),
    ledger.reads,
  );
}

import { checkSchema, createLedger, createPool, type Ledger } from "@millrace/ledger";

/**
 * Opens the ledger for the time of one command.
 *
 * @throws `database_unavailable`, `migration_needed`, `migration_unknown`.
 */
export async function withLedger<Result>(
  databaseUrl: string,
  work: (ledger: Ledger) => Promise<Result>,
): Promise<Result> {
  const pool = createPool({ url: databaseUrl, max: 2, applicationName: "millrace-cli" });
  try {
    await checkSchema(pool);
    return await work(createLedger({ pool }));
  } finally {
    await pool.end();
  }
}

import { resolve } from "node:path";
import { sourceRules, type Config } from "@millrace/core";
import { createLedger, createPool, migrate, USER_SCOPE, type Ledger } from "@millrace/ledger";
import { createScratchDatabase } from "./scratch-database.ts";
import { createTestLedger, type TestLedger } from "./test-ledger.ts";

/** Attempts that run at once; each holds a connection. */
export const CONCURRENCY = 4;

/** A ledger on a scratch database. */
export interface ScratchLedger {
  readonly url: string;
  readonly ledger: Ledger;
  readonly tests: TestLedger;
  readonly pool: ReturnType<typeof createPool>;
  /** Disconnects, and drops the database. */
  close(): Promise<void>;
}

/**
 * Creates a scratch database with our tables and then the user's.
 *
 * @throws `database_unreachable`; `invalid_config` when the folder of migrations does not exist;
 * the error of a migration.
 */
export async function openLedger(
  serverUrl: string,
  config: Config,
  directory: string,
): Promise<ScratchLedger> {
  const database = await createScratchDatabase(serverUrl);
  const pool = createPool({
    url: database.url,
    max: CONCURRENCY + 4,
    applicationName: "millrace-testing",
    // Tests begin all at once, and the server may have much to do.
    connectionTimeoutMs: 60_000,
  });
  const close = async () => {
    await pool.end();
    await database.drop();
  };
  try {
    await migrate({ pool });
    if (config.migrations !== undefined) {
      await migrate({ pool, scope: USER_SCOPE, folder: resolve(directory, config.migrations) });
    }
  } catch (error) {
    await close();
    throw error;
  }
  const { retention, schema, worker, sources } = config;
  const rules = sourceRules(sources);
  const options = { ...worker, ...rules, keysDays: retention.keysDays, schema };
  const ledger = createLedger({ pool }, options);
  return { ledger, tests: createTestLedger(pool), pool, url: database.url, close };
}

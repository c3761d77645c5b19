import { MillraceError } from "@millrace/core";
import { readRun } from "./run-file.ts";
import type { Settings } from "./settings.ts";

/** Where the ledger is, and the queue; without `redisUrl` the queue is on Postgres too. */
export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
}

/**
 * Finds the stores that a command works on: those of the environment, else those of the
 * `millrace start` that runs here.
 *
 * @throws `database_unreachable` when neither names a database.
 */
export async function findStores({ environment, dataDir }: Settings): Promise<Stores> {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = environment;
  if (databaseUrl !== undefined) return { databaseUrl, redisUrl };
  const run = await readRun(dataDir);
  if (run !== undefined) {
    return { databaseUrl: run.database_url, redisUrl: redisUrl ?? run.redis_url };
  }
  throw new MillraceError(
    "database_unreachable",
    `Cannot find the ledger: DATABASE_URL is not set, and no \`millrace start\` runs in ${dataDir}`,
  );
}

import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations } from "bullmq";
import type pg from "pg";

/** The schema of BullMQ's tables. It is BullMQ's own default. */
export const SCHEMA = "bullmq";

/**
 * Brings BullMQ's tables up to date, under BullMQ's own advisory lock. Where they are, nothing is
 * written, so that a process whose role may not create tables can start.
 */
export async function migrateBullmq(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    if (!(await isUpToDate(client))) await runMigrations(client, SCHEMA);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(failure);
  }
}

async function isUpToDate(client: pg.PoolClient): Promise<boolean> {
  try {
    return (await assertSchemaCompatibility(client, SCHEMA)) >= LATEST_SCHEMA_VERSION;
  } catch (error) {
    if (error instanceof Error && error.name === "SchemaMigrationRequiredError") return false;
    throw error;
  }
}

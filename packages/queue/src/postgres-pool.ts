import { asError } from "@millrace/core";
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations } from "bullmq";
import pg from "pg";
import type { QueueRole } from "./queues.ts";

/** The schema of BullMQ's tables. It is BullMQ's own default. */
const SCHEMA = "bullmq";

const POOL_SIZE: Record<QueueRole, number> = { ingress: 4, worker: 10, dashboard: 4, cli: 2 };

/**
 * The most connections that a process' queues take of Postgres' `max_connections`. The workers of
 * all sources share one connection for LISTEN, so the number of sources does not count.
 */
export function connectionsWanted(role: QueueRole): number {
  return POOL_SIZE[role] + (role === "worker" ? 1 : 0);
}

/** The one pool of a process' queues; never the ledger's. */
export function createPostgresPool(options: {
  url: string;
  role: QueueRole;
  onError: (error: Error) => void;
}): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: connectionsWanted(options.role),
    application_name: `millrace-${options.role}-queue`,
    // BullMQ names its tables without a schema when it is given a pool.
    options: `-c search_path=${SCHEMA}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    // Every statement here stands alone, so that an unanswered one may be abandoned with its
    // connection. Never do this where a transaction may be open.
    query_timeout: 30_000,
  });
  // Postgres notifies every connection when it stops; without a listener, that would end the process.
  pool.on("error", (error) => options.onError(error));
  pool.on("connect", (client) => {
    client.setMaxListeners(0);
    client.on("error", options.onError);
  });
  return pool;
}

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
    failure = asError(error);
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

import { asError, PINNED_OPTIONS, poolName } from "@millrace/core";
import { assertSchemaCompatibility, LATEST_SCHEMA_VERSION, runMigrations } from "bullmq";
import type pg from "pg";
import type { QueueRole } from "./queues.ts";

/** The schema of BullMQ's tables. It is BullMQ's own default. */
const SCHEMA = "bullmq";

const POOL_SIZE: Record<QueueRole, number> = { ingress: 4, worker: 10, dashboard: 4, cli: 2 };

/** The most connections of a process' queues. All workers share one connection for LISTEN. */
export function connectionsWanted(role: QueueRole): number {
  return POOL_SIZE[role] + (role === "worker" ? 1 : 0);
}

export type OpenPool = (settings: pg.PoolConfig) => pg.Pool;

export function createPostgresPool(options: {
  role: QueueRole;
  openPool: OpenPool;
  onError: (error: Error) => void;
}): pg.Pool {
  const max = connectionsWanted(options.role);
  const pool = options.openPool({
    max,
    application_name: poolName(`millrace-${options.role}-queue`, max),
    // BullMQ names its tables without a schema when it is given a pool. Its temporary tables take
    // temp_buffers (8 MB here), which can be set to more than there is.
    options: `-c search_path=${SCHEMA} -c temp_buffers=1024 -c idle_in_transaction_session_timeout=0 ${PINNED_OPTIONS}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    // No transaction is ever open here: only then may an unanswered statement be abandoned.
    query_timeout: 30_000,
  });
  // Postgres notifies every connection when it stops; without a listener, that ends the process.
  pool.on("error", (error) => options.onError(error));
  pool.on("connect", (client) => {
    client.setMaxListeners(0);
    client.on("error", options.onError);
  });
  leaveReadOnly(pool);
  return pool;
}

const READ_ONLY_TRANSACTION = "25006";

/** A demoted server's name may lead to another one by now. */
function leaveReadOnly(pool: pg.Pool): void {
  const clients = new Set<pg.PoolClient>();
  pool.on("connect", (client) => {
    clients.add(client);
    client.connection.on("errorMessage", ({ code }: { code?: string }) => {
      if (code !== READ_ONLY_TRANSACTION) return;
      for (const each of clients) each.connection.stream.destroy();
    });
  });
  pool.on("remove", (client) => clients.delete(client));
}

/** BullMQ makes a queue's sequence with its first job, which a role may not be allowed to. */
const MAKE_SEQUENCES = `
  SELECT next_job_id(queue) FROM unnest($1::text[]) AS q (queue)
   WHERE to_regclass(job_id_seq_name(queue)) IS NULL`;

/** Under BullMQ's lock; writes nothing where all is there: a role without CREATE can start. */
export async function migrateBullmq(pool: pg.Pool, queues: readonly string[]): Promise<void> {
  const client = await pool.connect();
  let failure: Error | undefined;
  try {
    if (!(await isUpToDate(client))) await runMigrations(client, SCHEMA);
    await client.query(MAKE_SEQUENCES, [queues]);
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

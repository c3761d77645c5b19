import { MillraceError, settlesWithin, asError, PINNED_OPTIONS, poolName } from "@millrace/core";
import {
  PostgresConnection,
  Queue,
  Worker,
  type PgPool,
  type PostgresQueueBackend,
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  runMigrations,
} from "bullmq";
import type pg from "pg";
import type { Backend } from "./backend.ts";
import { addToPostgres, queryInTurn, shareConnection } from "./bullmq-patches/postgres-add.ts";
import { createQueues } from "./create-queues.ts";
import { STREAMS, queueName } from "./jobs.ts";
import { createErrorReporter } from "./notices.ts";
import { createPostgresQueries } from "./postgres-queries.ts";
import type { QueueRole, Queues, QueuesOptions } from "./queues.ts";

export interface PostgresQueuesOptions extends QueuesOptions {
  readonly openPool: (settings: pg.PoolConfig) => pg.Pool;
}

/** @throws `database_unreachable` when Postgres does not answer */
export async function createPostgresQueues(options: PostgresQueuesOptions): Promise<Queues> {
  const reportError = createErrorReporter(options.notify);
  const pool = createPostgresPool(options, reportError);
  try {
    await migrateBullmq(pool, options.sources.map(queueName));
    return createQueues(await createPostgresBackend(pool, reportError), options, reportError);
  } catch (error) {
    await pool.end();
    throw new MillraceError(
      "database_unreachable",
      "Cannot open the queues: Postgres does not answer, or refuses BullMQ's tables",
      { cause: error },
    );
  }
}

const CLOSE_TIMEOUT_MS = 2_000;
/** Seconds between polls of an idle worker. A new job wakes it at once, by NOTIFY. */
const DRAIN_DELAY_S = 10;

// All queues and workers share one connection: by default BullMQ holds one to LISTEN for each
// worker. Locks and delays go by the workers' clocks, which must agree within seconds.
async function createPostgresBackend(
  pool: pg.Pool,
  onError: (error: Error) => void,
): Promise<Backend> {
  // BullMQ's own type of a pool is narrower than pg's.
  const connection = new PostgresConnection(pool as unknown as PgPool);
  connection.on("error", onError);
  await connection.waitUntilReady();
  queryInTurn(connection);
  const workers = new Set<PostgresQueueBackend>();
  // The one LISTEN connection broke: each worker subscribes again, and fetches the jobs it missed.
  connection.on("listenerinvalidated", () => {
    for (const worker of workers) {
      void worker.disconnectBlocking();
      void worker.reconnectBlocking();
    }
  });
  const shared = shareConnection(connection, workers);
  return {
    name: "postgres",
    keys: undefined,
    owner: {},
    unready: () => undefined,
    ping: async () => {
      await pool.query("SELECT 1");
    },
    createQueue: (name) => new Queue(name, { connection: {}, streams: STREAMS }, shared),
    createWorker: (name, processor, options) =>
      new Worker(
        name,
        processor,
        { ...options, connection: {}, drainDelay: DRAIN_DELAY_S },
        shared,
      ),
    add: (queue, jobs, options) => addToPostgres(pool, queue, jobs, options),
    // Data that Postgres refuses (22, 23) or an index cannot hold (54).
    isPoison: (error) =>
      /^(?:22|23|54)/.test(String((error as { code?: unknown } | undefined)?.code)),
    ...createPostgresQueries(pool),
    close: async () => {
      workers.clear();
      await settlesWithin(connection.close(), CLOSE_TIMEOUT_MS);
      await settlesWithin(pool.end(), CLOSE_TIMEOUT_MS);
    },
  };
}

/** The schema of BullMQ's tables. It is BullMQ's own default. */
const SCHEMA = "bullmq";

const POOL_SIZE: Record<QueueRole, number> = { ingress: 4, worker: 10, dashboard: 4, cli: 2 };

/** The most connections of a process' queues. All workers share one connection for LISTEN. */
export function connectionsWanted(role: QueueRole): number {
  return POOL_SIZE[role] + (role === "worker" ? 1 : 0);
}

function createPostgresPool(
  { role, openPool }: PostgresQueuesOptions,
  onError: (error: Error) => void,
): pg.Pool {
  const max = connectionsWanted(role);
  const pool = openPool({
    max,
    application_name: poolName(`millrace-${role}-queue`, max),
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
  pool.on("error", (error) => onError(error));
  pool.on("connect", (client) => {
    client.setMaxListeners(0);
    client.on("error", onError);
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
async function migrateBullmq(pool: pg.Pool, queues: readonly string[]): Promise<void> {
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

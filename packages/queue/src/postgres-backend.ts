import { MillraceError, settlesWithin } from "@millrace/core";
import { PostgresConnection, Queue, Worker, type PgPool, type PostgresQueueBackend } from "bullmq";
import type pg from "pg";
import type { Backend, QueueServer } from "./backend.ts";
import { addToPostgres } from "./bullmq-patches/postgres-add.ts";
import { queryInTurn, shareConnection } from "./bullmq-patches/postgres-connection.ts";
import { createQueues, ENQUEUE_TIMEOUT_MS } from "./create-queues.ts";
import { STREAMS, queueName } from "./jobs.ts";
import { createErrorReporter, type Notify } from "./notices.ts";
import { createPostgresPool, migrateBullmq, type OpenPool } from "./postgres-pool.ts";
import { createPostgresQueries } from "./postgres-queries.ts";
import type { QueueRole, Queues } from "./queues.ts";

export interface PostgresQueuesOptions {
  readonly openPool: OpenPool;
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  readonly enqueueTimeoutMs?: number;
}

/** @throws `database_unreachable` when Postgres does not answer */
export async function createPostgresQueues(options: PostgresQueuesOptions): Promise<Queues> {
  const { openPool, sources, role, notify, enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS } = options;
  const reportError = createErrorReporter(notify);
  const pool = createPostgresPool({ openPool, role, onError: reportError });
  try {
    await migrateBullmq(pool, sources.map(queueName));
    const backend = await createPostgresBackend(pool, reportError);
    return createQueues({ backend, sources, notify, reportError, enqueueTimeoutMs });
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
  const server: QueueServer = {
    unready: () => undefined,
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
  return {
    name: "postgres",
    keys: undefined,
    owner: {},
    serverOf: () => server,
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

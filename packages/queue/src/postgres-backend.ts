import { asError, settlesWithin } from "@millrace/core";
import {
  PostgresConnection,
  PostgresQueueBackend,
  Queue,
  Worker,
  type BackendFactory,
  type PgPool,
  type RedisQueueBackend,
} from "bullmq";
import type pg from "pg";
import type { Backend, QueueServer } from "./backend.ts";
import { STREAMS } from "./job-options.ts";
import { addToPostgres } from "./bullmq-patches/postgres-add.ts";
import { createPostgresQueries } from "./postgres-queries.ts";

const CLOSE_TIMEOUT_MS = 2_000;
/** Seconds between polls of an idle worker. A new job wakes it at once, by NOTIFY. */
const DRAIN_DELAY_S = 10;

/**
 * BullMQ on its own Postgres backend. All queues and workers of the process share one
 * PostgresConnection: by default BullMQ holds a LISTEN connection for each worker.
 *
 * Locks and delays go by the clocks of the workers, not of the database: on this backend
 * all workers must run on one machine, or on clocks that agree within seconds.
 */
export async function createPostgresBackend(
  pool: pg.Pool,
  onError: (error: Error) => void,
): Promise<Backend> {
  // BullMQ's own type of a pool is narrower than pg's.
  const connection = new PostgresConnection(pool as unknown as PgPool);
  connection.on("error", onError);
  await connection.waitUntilReady();
  queryInTurn(connection);
  const workers = new Set<PostgresQueueBackend>();
  // The one LISTEN connection broke: each worker subscribes again, and fetches what it missed.
  connection.on("listenerinvalidated", () => {
    for (const worker of workers) {
      void worker.disconnectBlocking();
      void worker.reconnectBlocking();
    }
  });
  const shared = sharedBackend(connection, workers);
  const server: QueueServer = {
    unready: () => undefined,
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
  return {
    name: "postgres",
    keys: undefined,
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
    isPoison: (error) => /^(?:22|23|54)/.test(String(codeOf(error))),
    ...createPostgresQueries(pool),
    close: async () => {
      workers.clear();
      await settlesWithin(connection.close(), CLOSE_TIMEOUT_MS);
      await settlesWithin(pool.end(), CLOSE_TIMEOUT_MS);
    },
  };
}

/**
 * How BullMQ is told what its queues and workers use. Their types name the Redis backend by
 * default, here and in bull-board; nothing reads it through them.
 */
function sharedBackend(
  connection: PostgresConnection,
  workers: Set<PostgresQueueBackend>,
): BackendFactory<RedisQueueBackend> {
  const factory: BackendFactory<PostgresQueueBackend, never> = (name, options, extra) => {
    const backend = new PostgresQueueBackend(connection, name, options, false);
    if (extra?.withBlockingConnection === true) workers.add(backend);
    return backend;
  };
  return factory as unknown as BackendFactory<RedisQueueBackend>;
}

/** All workers subscribe on the one LISTEN connection, and pg takes one statement at a time. */
function queryInTurn(connection: PostgresConnection): void {
  const seen = new WeakSet<object>();
  const getListenClient = connection.getListenClient.bind(connection);
  connection.getListenClient = async () => {
    const client = await getListenClient();
    if (seen.has(client)) return client;
    seen.add(client);
    const query = client.query.bind(client);
    let last: Promise<unknown> = Promise.resolve();
    client.query = (text, params) => {
      const next = last.then(() => query(text, params));
      last = Promise.allSettled([next]);
      return next;
    };
    return client;
  };
}

function codeOf(error: unknown): unknown {
  const { code } = asError(error) as Error & { code?: unknown };
  return code;
}

import pg from "pg";
import { SCHEMA } from "./postgres-schema.ts";

/** The one pool of a process' queues; never the ledger's. */
export function createPostgresPool(options: {
  url: string;
  max: number;
  applicationName: string;
  onError: (error: Error) => void;
}): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    // BullMQ names its tables without a schema when it is given a pool.
    options: `-c search_path=${SCHEMA}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: 5_000,
    // Every statement here stands alone, so that an unanswered one may be given up with its
    // connection. Never do this where a transaction may be open.
    query_timeout: 30_000,
  });
  // Postgres tells every connection when it stops; unheard, that would end the process.
  pool.on("error", options.onError);
  pool.on("connect", (client) => {
    client.setMaxListeners(0);
    client.on("error", options.onError);
  });
  return pool;
}

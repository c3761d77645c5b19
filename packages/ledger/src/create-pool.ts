import pg from "pg";

export interface PoolOptions {
  readonly url: string;
  /** Connections at the most. A worker needs its concurrency and two more. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Milliseconds that a caller waits for a connection. */
  readonly connectionTimeoutMs?: number;
  /** Milliseconds that an unused connection is kept. */
  readonly idleTimeoutMs?: number;
  /** Hears of connections that died, one call a connection; for the log. */
  readonly onError?: (error: Error) => void;
}

/**
 * A pool whose dead connections end nothing but themselves. Its clients send statements without
 * waiting for the answers before them (`pipeline`), so that what is sent together costs one round
 * trip. It has no client-side `query_timeout`: that would hand a transaction in an unknown state to
 * the next caller. The caller ends it.
 */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMillis: options.idleTimeoutMs ?? 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  });
  // Idle clients report here. Clients that are lent out report only on themselves, and an error
  // event that nobody hears ends the process.
  const heard = new WeakSet<Error>();
  const hear = (error: Error) => {
    if (heard.has(error)) return;
    heard.add(error);
    options.onError?.(error);
  };
  pool.on("error", hear);
  pool.on("connect", (client) => client.on("error", hear));
  return pool;
}

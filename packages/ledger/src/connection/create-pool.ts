import type pg from "pg";
import { closeReadOnly } from "./connection.ts";
import { openPool } from "./open-pool.ts";
import { SessionSettings } from "./pinned-settings.ts";
import { learnForgotten } from "./statement.ts";

export interface PoolOptions {
  readonly url: string;
  /** Maximum number of connections. A worker needs its concurrency plus two. */
  readonly max: number;
  readonly applicationName: string;
  readonly connectionTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
  readonly onError?: (error: Error) => void;
}

/**
 * Makes a pool, which the caller ends. It has no client-side `query_timeout`, which would hand a
 * transaction in an unknown state to the next caller.
 * @throws `invalid_config`
 */
export function createPool(options: PoolOptions): pg.Pool {
  const settings = new SessionSettings();
  const pool = openPool(options.url, {
    Client: settings.clientClass(),
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMillis: options.idleTimeoutMs ?? 30_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    pipeline: true,
  });
  // A client in use reports its own errors; an error event without a listener ends the process.
  const reported = new WeakSet<Error>();
  const report = (error: Error) => {
    if (reported.has(error)) return;
    reported.add(error);
    options.onError?.(error);
  };
  pool.on("error", report);
  pool.on("connect", (client) => client.on("error", report));
  settings.watch(pool);
  learnForgotten(pool);
  closeReadOnly(pool);
  return pool;
}

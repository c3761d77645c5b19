import { MillraceError } from "@millrace/core";
import type { createPool } from "@millrace/ledger";

/** Besides the handlers: two batches that are recorded, a failure, the readiness check, the
 * reconciler, the retention, and the leadership of both. */
const BESIDES_HANDLERS = 8;

/** Connections that the ledger's pool of a worker needs at most. */
export function ledgerConnections(concurrency: number): number {
  return concurrency + BESIDES_HANDLERS;
}

/**
 * Checks that this process alone cannot need more connections than Postgres has: its handlers would
 * wait for each other.
 *
 * @throws `too_many_connections`
 */
export async function checkConnections(
  pool: ReturnType<typeof createPool>,
  wanted: number,
): Promise<void> {
  const { rows } = await pool.query<{ free: number }>(
    "select current_setting('max_connections')::int" +
      " - current_setting('superuser_reserved_connections')::int as free",
  );
  const free = rows[0]?.free ?? 0;
  if (wanted <= free) return;
  throw new MillraceError(
    "too_many_connections",
    `Cannot start the worker: it may need ${wanted} connections and Postgres gives ${free}. ` +
      "Lower worker.concurrency in the config, or raise max_connections",
  );
}

import { MillraceError } from "@millrace/core";
import type { createPool } from "@millrace/ledger";

type Pool = ReturnType<typeof createPool>;

/** Beside the handlers: two records, a failure, a look from outside; the reconciler, the retention, and
 * the lead of each. */
const BESIDE_HANDLERS = 8;

/** Connections that the ledger's pool of a worker needs at the most. */
export function ledgerConnections(concurrency: number): number {
  return concurrency + BESIDE_HANDLERS;
}

/**
 * Checks that this process alone cannot ask Postgres for more connections than it has: its
 * handlers would wait for one another.
 *
 * @throws `too_many_connections`
 */
export async function checkConnections(pool: Pool, wanted: number): Promise<void> {
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

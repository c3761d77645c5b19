import { MillraceError, type Config } from "@millrace/core";
import type { createPool } from "@millrace/ledger";
import { connectionsWanted } from "@millrace/queue";

type Pool = ReturnType<typeof createPool>;

/**
 * Connections that the ledger's pool of an ingress takes at most. Deliveries take one, because their
 * calls go one after another. The rest is for a call that came late, two retries of events that were
 * delivered again, the marks of what was enqueued, and checks.
 */
export const ingressConnections = 4;

/** Connections that the ledger's pool of a dashboard takes at most. */
export const dashboardConnections = 4;

/** Connections that the ledger's pool of a command takes at most. */
export const cliConnections = 2;

/** Besides the handlers: two batches that are recorded, a failure, the readiness check, the
 * reconciler, the retention, and the leadership of both. */
const BESIDES_HANDLERS = 8;

/** Connections that the ledger's pool of a worker takes at most. */
export function workerConnections(concurrency: number): number {
  return concurrency + BESIDES_HANDLERS;
}

/**
 * Checks that this worker alone cannot need more connections than Postgres has: its handlers would
 * wait for each other.
 *
 * @throws `too_many_connections`
 */
export async function checkConnections(
  pool: Pool,
  config: Pick<Config, "worker">,
  options: { queuesOnPostgres: boolean },
): Promise<void> {
  const ofQueues = options.queuesOnPostgres ? connectionsWanted("worker") : 0;
  const wanted = workerConnections(config.worker.concurrency) + ofQueues;
  const given = await connectionsGiven(pool);
  if (wanted <= given) return;
  throw new MillraceError(
    "too_many_connections",
    `Cannot start the worker: it may need ${wanted} connections and Postgres gives ${given}. ` +
      "Lower worker.concurrency in the config, or raise max_connections",
  );
}

/** Connections that Postgres gives to those who are not superusers. */
export async function connectionsGiven(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ given: number }>(
    "select current_setting('max_connections')::int" +
      " - current_setting('superuser_reserved_connections')::int as given",
  );
  return rows[0]?.given ?? 0;
}

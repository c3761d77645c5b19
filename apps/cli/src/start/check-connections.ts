import { MillraceError, type Config } from "@millrace/core";
import { ledgerConnections as ofDashboard } from "@millrace/dashboard";
import { ledgerConnections as ofIngress } from "@millrace/ingress";
import { createPool } from "@millrace/ledger";
import { connectionsWanted, type QueueRole } from "@millrace/queue";
import { ledgerConnections as ofWorker } from "@millrace/worker";
import type { Stores } from "../find-stores.ts";

/** Commands that are run beside it: send needs none, the others up to four. */
const COMMANDS = 8;

/** Connections to Postgres that a start's processes may hold at once, all their pools together. */
function connectionsOfStart(config: Config, workers: number, onRedis: boolean): number {
  const queue = (role: QueueRole) => (onRedis ? 0 : connectionsWanted(role));
  const ingress = ofIngress + queue("ingress");
  const worker = ofWorker(config.worker.concurrency) + queue("worker");
  return ingress + workers * worker + ofDashboard + queue("dashboard") + COMMANDS;
}

/**
 * Refuses to start more processes than Postgres has connections for: they would wait for one
 * another under load.
 *
 * @throws `too_many_connections`
 */
export async function checkConnections(
  config: Config,
  { databaseUrl, redisUrl }: Stores,
  workers: number,
): Promise<void> {
  const wanted = connectionsOfStart(config, workers, redisUrl !== undefined);
  const given = await connectionsGiven(databaseUrl);
  if (wanted <= given) return;
  throw new MillraceError(
    "too_many_connections",
    `Cannot start ${workers} workers: all pools together may take ${wanted} connections, and ` +
      `Postgres gives ${given}. Lower --workers or worker.concurrency, or raise max_connections`,
  );
}

async function connectionsGiven(databaseUrl: string): Promise<number> {
  const pool = createPool({ url: databaseUrl, max: 1, applicationName: "millrace-start" });
  try {
    const { rows } = await pool.query<{ given: number }>(
      "select current_setting('max_connections')::int" +
        " - current_setting('superuser_reserved_connections')::int as given",
    );
    return rows[0]?.given ?? 0;
  } finally {
    await pool.end();
  }
}

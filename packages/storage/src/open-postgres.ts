import { checkSchema, createLedger, createPool, type Ledger } from "@millrace/ledger";
import { createPostgresQueues, type PostgresQueuesOptions, type Queues } from "@millrace/queue";
import { ledgerConnections } from "./ledger-connections.ts";

const CONNECTION_TIMEOUT_MS = 800;

/** What an ingress has of Postgres. */
export interface PostgresStore {
  readonly ledger: Ledger;
  /** Undefined where the queue is on Redis. */
  readonly queues: Queues | undefined;
  close(): Promise<void>;
}

/**
 * Opens the ledger and, where there is no Redis, the queue on Postgres.
 *
 * @throws `database_unreachable` and `database_unavailable` while the server is away;
 * `migration_needed` when a wait mends nothing.
 */
export async function openPostgres(
  options: Omit<PostgresQueuesOptions, "role">,
  settings: { withQueues: boolean; statementTimeoutMs: number },
): Promise<PostgresStore> {
  const pool = createPool({
    url: options.url,
    max: ledgerConnections,
    applicationName: "millrace-ingress",
    connectionTimeoutMs: CONNECTION_TIMEOUT_MS,
    onError: (error) => options.notify({ kind: "background_error", cause: "ledger", error }),
  });
  try {
    await checkSchema(pool);
    const { statementTimeoutMs } = settings;
    const ledger = createLedger({ pool }, { statementTimeoutMs });
    const queues = settings.withQueues
      ? await createPostgresQueues({ ...options, role: "ingress" })
      : undefined;
    return {
      ledger,
      queues,
      close: async () => {
        await queues?.close();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

import { MillraceError } from "@millrace/core";
import { createQueues, ENQUEUE_TIMEOUT_MS } from "./create-queues.ts";
import { queueName } from "./names.ts";
import { createErrorReporter, type Notify } from "./notices.ts";
import { createPostgresBackend } from "./postgres-backend.ts";
import { createPostgresPool, migrateBullmq } from "./postgres-pool.ts";
import type { QueueRole, Queues } from "./queues.ts";

export interface PostgresQueuesOptions {
  /** The ledger's database. BullMQ's tables are in it, in a schema of their own. */
  readonly url: string;
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  /** Milliseconds within which an enqueue is answered. Default 800. */
  readonly enqueueTimeoutMs?: number;
}

/**
 * Opens every source's queue on Postgres, and creates BullMQ's tables where they are missing.
 *
 * @throws `database_unreachable` when Postgres does not answer.
 */
export async function createPostgresQueues(options: PostgresQueuesOptions): Promise<Queues> {
  const { url, sources, role, notify, enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS } = options;
  const reportError = createErrorReporter(notify);
  const pool = createPostgresPool({ url, role, onError: reportError });
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

import { MillraceError } from "@millrace/core";
import { connectionsWanted, type QueueRole } from "./connections-wanted.ts";
import { createQueues } from "./create-queues.ts";
import type { Notify } from "./notice.ts";
import { createPostgresBackend } from "./postgres-backend.ts";
import { createPostgresPool } from "./postgres-pool.ts";
import { migrateBullmq } from "./postgres-schema.ts";
import type { Queues } from "./queues.ts";
import { createTrouble } from "./trouble.ts";

export interface PostgresQueuesOptions {
  /** The ledger's database. BullMQ's tables live in it, in a schema of their own. */
  readonly url: string;
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  /** Milliseconds within which an enqueue is answered. Default 800. */
  readonly enqueueTimeoutMs?: number;
}

/**
 * Opens every source's queue on Postgres, and makes BullMQ's tables where they are not.
 *
 * @throws `database_unreachable` when Postgres does not answer.
 */
export async function createPostgresQueues(options: PostgresQueuesOptions): Promise<Queues> {
  const trouble = createTrouble(options.notify);
  const pool = createPostgresPool({
    url: options.url,
    max: connectionsWanted(options.role),
    applicationName: `millrace-${options.role}-queue`,
    onError: trouble,
  });
  try {
    await migrateBullmq(pool);
    const backend = await createPostgresBackend(pool, trouble);
    return createQueues({
      backend,
      sources: options.sources,
      notify: options.notify,
      trouble,
      enqueueTimeoutMs: options.enqueueTimeoutMs ?? 800,
    });
  } catch (error) {
    await pool.end();
    throw new MillraceError(
      "database_unreachable",
      "Cannot open the queues: Postgres does not answer, or refuses BullMQ's tables",
      { cause: error },
    );
  }
}

import { setTimeout as sleep } from "node:timers/promises";
import { isMillraceError, MillraceError } from "@millrace/core";
import {
  createPostgresQueues,
  createRedisQueues,
  type QueueNotice,
  type Queues,
} from "@millrace/queue";
import { reasonOf } from "@millrace/service";
import type { Stores } from "./find-stores.ts";

/** Milliseconds that a connection may take to come up. */
const PATIENCE_MS = 5_000;

/**
 * Opens the queues of some sources for the time of one command.
 *
 * @throws `redis_unreachable`, `database_unreachable`.
 */
export async function withQueues<Result>(
  { databaseUrl, redisUrl }: Stores,
  sources: readonly string[],
  work: (queues: Queues) => Promise<Result>,
): Promise<Result> {
  let trouble: unknown;
  const notify = (notice: QueueNotice): void => {
    if (notice.kind === "trouble") trouble = notice.error;
  };
  const options = { sources, role: "cli", notify } as const;
  const queues =
    redisUrl === undefined
      ? await createPostgresQueues({ ...options, url: databaseUrl })
      : createRedisQueues({ ...options, url: redisUrl });
  try {
    await connected(queues, () => trouble);
    return await work(queues);
  } finally {
    await queues.close();
  }
}

// A ping says no more than that it is not connected; the reason was told beside it.
function because(error: unknown, reason: unknown): unknown {
  if (reason === undefined || !isMillraceError(error)) return error;
  return new MillraceError(error.code, `Cannot reach the queue: ${reasonOf(reason)}`, {
    cause: error,
  });
}

// Redis' queues are given before their connection is up, and answer with errors until then.
async function connected(queues: Queues, trouble: () => unknown): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await queues.ping();
    } catch (error) {
      if (Date.now() >= deadline) throw because(error, trouble());
      await sleep(25);
    }
  }
}

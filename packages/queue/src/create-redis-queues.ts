import { createQueues } from "./create-queues.ts";
import type { QueueRole } from "./connections-wanted.ts";
import type { Notify } from "./notice.ts";
import type { Queues } from "./queues.ts";
import { createRedisBackend } from "./redis-backend.ts";
import { createRedisClients } from "./redis-clients.ts";
import { createTrouble } from "./trouble.ts";

export interface RedisQueuesOptions {
  /** `redis://` or `rediss://`, with user and password where there are any. */
  readonly url: string;
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  /** Milliseconds within which an enqueue is answered. Default 800. */
  readonly enqueueTimeoutMs?: number;
}

const COMMAND_GRACE_MS = 200;

/**
 * Opens every source's queue on Redis. Returns at once, also when Redis is down: until it is there,
 * `enqueue` answers with errors and `ping` throws.
 */
export function createRedisQueues(options: RedisQueuesOptions): Queues {
  const enqueueTimeoutMs = options.enqueueTimeoutMs ?? 800;
  const trouble = createTrouble(options.notify);
  const clients = createRedisClients({
    url: options.url,
    connectionName: `millrace-${options.role}`,
    // Later than an enqueue gives up by itself, which shuts the gate.
    commandTimeoutMs: enqueueTimeoutMs + COMMAND_GRACE_MS,
    onError: trouble,
  });
  return createQueues({
    backend: createRedisBackend(clients),
    sources: options.sources,
    notify: options.notify,
    trouble,
    enqueueTimeoutMs,
  });
}

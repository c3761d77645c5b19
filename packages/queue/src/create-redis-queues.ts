import { createQueues, ENQUEUE_TIMEOUT_MS } from "./create-queues.ts";
import { createErrorReporter, type Notify } from "./notices.ts";
import type { QueueRole, Queues } from "./queues.ts";
import { createRedisBackend } from "./redis-backend.ts";
import { createRedisClients } from "./redis-clients.ts";

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
  const { sources, notify, enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS } = options;
  const reportError = createErrorReporter(notify);
  const clients = createRedisClients({
    url: options.url,
    connectionName: `millrace-${options.role}`,
    // Longer than the deadline of an enqueue, which opens the circuit breaker.
    commandTimeoutMs: enqueueTimeoutMs + COMMAND_GRACE_MS,
    onError: reportError,
  });
  const backend = createRedisBackend(clients);
  return createQueues({ backend, sources, notify, reportError, enqueueTimeoutMs });
}

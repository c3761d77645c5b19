import type { QueueKeys } from "@millrace/core";
import { createQueues, ENQUEUE_TIMEOUT_MS } from "./create-queues.ts";
import { createErrorReporter, type Notify } from "./notices.ts";
import type { QueueRole, Queues } from "./queues.ts";
import { createRedisBackend } from "./redis-backend.ts";
import { createRedisClients } from "./redis-clients.ts";
import { createDurabilityWatch } from "./redis-durability.ts";

export interface RedisQueuesOptions {
  /** As `connectRedis` takes it: one server, or Sentinels. */
  readonly url: string;
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  /** Milliseconds within which an enqueue is answered. Default 800. */
  readonly enqueueTimeoutMs?: number;
  /** Sign jobs and check them. Default: jobs are taken at their word. */
  readonly keys?: QueueKeys | undefined;
  /** Replicas that must have an event before `enqueue` answers for it. Default 0. */
  readonly replicas?: number;
}

const COMMAND_GRACE_MS = 200;
/** The part of an enqueue's time that replicas have. What is in line behind it has the rest. */
const REPLICA_SHARE = 0.25;

/**
 * Opens every source's queue on Redis. Returns at once, also when Redis is down: until it is there,
 * `enqueue` answers with errors and `ping` throws.
 */
export function createRedisQueues(options: RedisQueuesOptions): Queues {
  const { sources, notify, enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS, replicas = 0 } = options;
  const reportError = createErrorReporter(notify);
  const clients = createRedisClients({
    url: options.url,
    connectionName: `millrace-${options.role}`,
    // Longer than the deadline of an enqueue, which opens the circuit breaker.
    commandTimeoutMs: enqueueTimeoutMs + COMMAND_GRACE_MS,
    onError: reportError,
  });
  const replicaTimeoutMs = Math.max(1, Math.floor(enqueueTimeoutMs * REPLICA_SHARE));
  const durability = createDurabilityWatch(clients.producer, { replicas, replicaTimeoutMs });
  const backend = createRedisBackend(clients, options.keys, durability);
  return createQueues({ backend, sources, notify, reportError, enqueueTimeoutMs });
}

import {
  checkRedis,
  createRedisQueues,
  type Queues,
  type RedisQueuesOptions,
} from "@millrace/queue";

const FIRST_ANSWER_MS = 3_000;

/**
 * Opens the queue on Redis.
 *
 * @throws `redis_unreachable` while the server is away; `redis_evicts`, `redis_volatile` when a wait
 * mends nothing.
 */
export async function openRedis(
  options: Omit<RedisQueuesOptions, "role">,
  { allowVolatile }: { allowVolatile: boolean },
): Promise<{ queues: Queues; close(): Promise<void> }> {
  await checkRedis(options.url, { allowVolatile });
  const queues = createRedisQueues({ ...options, role: "ingress" });
  try {
    await firstAnswer(() => queues.ping());
  } catch (error) {
    await queues.close();
    throw error;
  }
  return { queues, close: () => queues.close() };
}

/** Waits until a connection that was just begun works, so that the first delivery finds it so. */
async function firstAnswer(ping: () => Promise<unknown>): Promise<void> {
  const deadlineMs = performance.now() + FIRST_ANSWER_MS;
  for (;;) {
    try {
      await ping();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

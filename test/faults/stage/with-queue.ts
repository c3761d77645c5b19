import { createPostgresQueues, createRedisQueues } from "@millrace/queue";
import type { Queue } from "bullmq";
import { until } from "../../support/until.ts";
import type { Stage } from "./stage.ts";

/** Opens a source's queue past the proxies, as somebody with access to its server could. */
export async function withQueue<T>(
  stage: Stage,
  source: string,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const { redis, postgres } = stage.ground;
  const options = { sources: [source], role: "dashboard", notify: () => {} } as const;
  const queues =
    redis === undefined
      ? await createPostgresQueues({ url: postgres.url, ...options })
      : createRedisQueues({ url: redis.server.url, ...options });
  try {
    await until(() => queues.ping().then(() => true));
    const queue = queues.queues.get(source);
    if (queue === undefined) throw new Error(`Cannot open the queue of ${source}`);
    return await use(queue);
  } finally {
    await queues.close();
  }
}

import { createRedisQueues, type QueueNotice } from "@millrace/queue";
import { Redis } from "ioredis";
import { startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

export type QueuesOnRedis = Awaited<ReturnType<typeof openQueuesOnRedis>>;

export async function openQueuesOnRedis(role: "ingress" | "worker") {
  const redis = await startRedis();
  const client = new Redis(redis.url, { maxRetriesPerRequest: null });
  const notices: QueueNotice[] = [];
  const queues = createRedisQueues({
    ...{ url: redis.url, sources: ["acme"], role },
    notify: (notice) => notices.push(notice),
  });
  await until(() => queues.ping().then(() => true));
  return {
    ...{ redis, client, queues, notices },
    close: async () => {
      await queues.close();
      client.disconnect();
      await redis.stop();
    },
  };
}

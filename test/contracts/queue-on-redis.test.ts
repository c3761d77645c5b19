import { createRedisQueues } from "@millrace/queue";
import { Redis } from "ioredis";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { enqueueTimeoutMs, queueContract } from "./queue.contract.ts";
import type { QueueServer } from "./queue-fixture.ts";

describeOnRedis("the queues on Redis", () => queueContract(onRedis));

async function onRedis(): Promise<QueueServer> {
  const redis = await startRedis();
  const client = new Redis(redis.url);
  return {
    url: redis.url,
    open: async (sources, notify) =>
      createRedisQueues({ url: redis.url, sources, role: "worker", notify, enqueueTimeoutMs }),
    stealLock: async (queue, jobId) => {
      await client.del(`bull:${queue}:${jobId}:lock`);
    },
    connections: async () =>
      String(await client.client("LIST"))
        .trim()
        .split("\n").length - 1,
    clear: async () => void (await client.flushall()),
    release: async () => {
      client.disconnect();
      await redis.stop();
    },
  };
}

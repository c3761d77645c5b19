import { createRedisQueues } from "@millrace/queue";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { describeOnRedis, startRedis } from "../support/redis.ts";
import { until } from "../support/until.ts";

describeOnRedis("the pressure on Redis", () => {
  it("is unknown as long as there is no maxmemory, and follows it when there is", async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    const queues = createRedisQueues({
      url: redis.url,
      sources: ["acme"],
      role: "ingress",
      notify: () => undefined,
    });
    try {
      const pressure = queues.pressure();
      expect(pressure.memoryShare).toBeUndefined();
      await client.config("SET", "maxmemory", "100mb");
      await until(() => pressure.memoryShare !== undefined);
      expect(pressure.memoryShare).toBeGreaterThan(0);
      expect(pressure.memoryShare).toBeLessThan(0.5);
      await client.config("SET", "maxmemory", "0");
      await until(() => pressure.memoryShare === undefined);
    } finally {
      await queues.close();
      client.disconnect();
      await redis.stop();
    }
  });
});

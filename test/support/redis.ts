import { describe, inject } from "vitest";

export { redisServerPath, startRedis, type TestRedis } from "./redis-server.ts";

export function describeOnRedis(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasRedis"))(`${title} (needs redis-server)`, suite);
}

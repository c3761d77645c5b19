import { describe, inject } from "vitest";

export { redisServerPath, startRedis, type TestRedis } from "./redis-server.ts";

/** `describe` where there is a redis-server; the run says loudly when there is none. */
export function describeOnRedis(title: string, suite: () => void): void {
  describe.skipIf(!inject("hasRedis"))(`${title} (needs redis-server)`, suite);
}

import { createHash } from "node:crypto";
import type { Redis } from "ioredis";

/** A Lua script, sent by its hash; its text goes along only when the server does not have it. */
export interface RedisScript {
  run(client: Redis, keys: readonly string[], args: readonly string[]): Promise<unknown>;
}

export function createRedisScript(lua: string): RedisScript {
  const sha = createHash("sha1").update(lua).digest("hex");
  return {
    run: async (client, keys, args) => {
      try {
        return await client.evalsha(sha, keys.length, ...keys, ...args);
      } catch (error) {
        // The server was restarted, or has never seen the script: nothing was run.
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return await client.eval(lua, keys.length, ...keys, ...args);
      }
    },
  };
}

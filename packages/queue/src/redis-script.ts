import { createHash } from "node:crypto";
import { createRequire } from "node:module";
import type { Redis } from "ioredis";

/** A Lua script, sent by its hash; its text goes along only when the server does not have it. */
export interface RedisScript {
  run(
    client: Redis,
    keys: readonly string[],
    args: readonly (string | number | Buffer)[],
  ): Promise<unknown>;
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

/** What Redis said of one job, as ioredis throws what it says of a whole command. */
export function replyError(error: string): Error {
  // Older servers say where in the script it happened before what happened.
  const message = error.replace(/^@?user_script:\s?\d+:\s*/, "").replace(/^-/, "");
  return Object.assign(new Error(message), { name: "ReplyError" });
}

/** The BullMQ whose scripts were read, and whose results ours are tested to equal. */
const KNOWN_VERSION = "6.7.0";
const FILES = {
  addStandardJob: "bullmq/dist/cjs/scripts/addStandardJob-9.js",
  moveToFinished: "bullmq/dist/cjs/scripts/moveToFinished-14.js",
};

/**
 * The text of one of BullMQ's own scripts, from the BullMQ that is installed. In a loop over many jobs
 * it stores what BullMQ itself would store, and saves a round trip for each job and most of the work
 * that BullMQ, ioredis and Redis do for a command.
 *
 * @throws when another BullMQ is installed than the one that this is tested with.
 */
export function bullmqScript(name: keyof typeof FILES, load: NodeJS.Require = LOAD): string {
  const { version } = load("bullmq/package.json") as { version?: unknown };
  if (version !== KNOWN_VERSION) {
    throw new Error(
      `Cannot use BullMQ ${String(version)}: this build adds jobs with the script of BullMQ ${KNOWN_VERSION}`,
    );
  }
  const scripts = load(FILES[name]) as Record<string, { content: string } | undefined>;
  const script = scripts[name];
  if (script === undefined) throw new Error(`Cannot use BullMQ ${KNOWN_VERSION}: no ${name}`);
  return script.content;
}

const LOAD = createRequire(import.meta.url);

import { createHash } from "node:crypto";
import { moveToActive } from "bullmq/dist/cjs/scripts/moveToActive-11.js";
import { moveToDelayed } from "bullmq/dist/cjs/scripts/moveToDelayed-11.js";
import { moveToFinished } from "bullmq/dist/cjs/scripts/moveToFinished-14.js";
import { version as bullmqVersion } from "bullmq/dist/cjs/version.js";
import type { Redis } from "ioredis";

export type RedisScript = ReturnType<typeof createRedisScript>;

/** A Lua script, sent by its hash; its text goes along only when the server does not have it. */
export function createRedisScript(lua: string) {
  const sha = createHash("sha1").update(lua).digest("hex");
  return {
    /** `onSent` is called each time that the script was sent: later commands come behind it. */
    run: async (
      client: Redis,
      keys: readonly string[],
      args: readonly (string | number | Buffer)[],
      onSent?: () => void,
    ): Promise<unknown> => {
      try {
        const answer = client.evalsha(sha, keys.length, ...keys, ...args);
        onSent?.();
        return await answer;
      } catch (error) {
        // The server was restarted, or has never seen the script: nothing was run.
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        const answer = client.eval(lua, keys.length, ...keys, ...args);
        onSent?.();
        return await answer;
      }
    },
  };
}

/** Redis' answer for one job, as the error that ioredis throws for a whole command. */
export function replyError(error: string): Error {
  // Older servers say where in the script it happened before what happened.
  const message = error.replace(/^@?user_script:\s?\d+:\s*/, "").replace(/^-/, "");
  return Object.assign(new Error(message), { name: "ReplyError" });
}

/** For a key that somebody has given another type: it counts as one that is not there. */
export function unlessWrongType(error: unknown): undefined {
  if (error instanceof Error && error.message.startsWith("WRONGTYPE")) return undefined;
  throw error;
}

/** The BullMQ whose scripts were read, and whose results ours are tested to equal. */
const KNOWN_VERSION = "6.7.0";

export function requireKnownBullmq(version = bullmqVersion): void {
  if (version === KNOWN_VERSION) return;
  throw new Error(
    `Cannot use BullMQ ${version}: this build adds jobs as BullMQ ${KNOWN_VERSION} does`,
  );
}

const FETCHING = { moveToActive, moveToDelayed, moveToFinished };

/** With this line BullMQ counts the runs of a job that it fetches. */
const COUNT_RUN = 'rcall("HINCRBY", jobKey, "ats", 1)';

/** Redis cannot count in a field that is no number: the job would stay active without a worker. */
const COUNT_RUN_ALWAYS =
  'if type(redis.pcall("HINCRBY", jobKey, "ats", 1)) ~= "number" then rcall("HSET", jobKey, "ats", 2) end';

/** BullMQ's scripts run each command by this name. */
const COMMANDS = "local rcall = redis.call\n";

/** Nothing reads BullMQ's stream of notices, which take a tenth of the time of a job in Redis. */
const WITHOUT_NOTICES = `
local function rcall(name, ...)
  if name ~= "XADD" then return redis.call(name, ...) end
end
`;

export function bullmqScript(
  name: keyof typeof FETCHING,
  commands = WITHOUT_NOTICES,
): { keys: number; content: string } {
  requireKnownBullmq();
  const { keys, content } = FETCHING[name];
  const counting = replaceOnce(content, COUNT_RUN, COUNT_RUN_ALWAYS);
  return { keys, content: replaceOnce(counting, COMMANDS, commands) };
}

function replaceOnce(content: string, known: string, ours: string): string {
  const [before, after, ...more] = content.split(known);
  if (after === undefined || more.length > 0) {
    throw new Error(`Cannot use BullMQ ${KNOWN_VERSION}: its script is not the known one`);
  }
  return `${before}${ours}${after}`;
}

/** Gives a client these scripts before BullMQ does, which then leaves them as they are. */
export function defineFetching(client: Redis): void {
  for (const name of Object.keys(FETCHING) as (keyof typeof FETCHING)[]) {
    const command = `${name}:${KNOWN_VERSION}`;
    if (command in client) continue;
    const { keys, content } = bullmqScript(name);
    client.defineCommand(command, { numberOfKeys: keys, lua: content });
  }
}

import { settledWithin, within, MillraceError } from "@millrace/core";
import { Redis } from "ioredis";
import { parseInfo } from "./parse-info.ts";

export interface RedisFacts {
  readonly version: string;
  readonly aof: boolean;
  /** Its clock; undefined where it does not tell. */
  readonly timeMs: number | undefined;
}

const TIMEOUT_MS = 3_000;

/**
 * Refuses a Redis that would lose events: one that evicts keys, or that keeps nothing on disk. Reads
 * INFO alone, because managed services refuse CONFIG.
 *
 * @throws `redis_unreachable`, `redis_evicts`, `redis_volatile` (not with `allowVolatile`).
 */
export async function checkRedis(
  url: string,
  options: { allowVolatile: boolean; timeoutMs?: number },
): Promise<RedisFacts> {
  const info = parseInfo(await readInfo(url, options.timeoutMs ?? TIMEOUT_MS));
  const policy = info.get("maxmemory_policy") ?? "unknown";
  if (policy !== "noeviction") {
    throw new MillraceError(
      "redis_evicts",
      `Cannot use this Redis: its maxmemory-policy is "${policy}", so it may throw events away. ` +
        "Mend it with: redis-cli CONFIG SET maxmemory-policy noeviction",
    );
  }
  const aof = info.get("aof_enabled") === "1";
  if (!aof && !options.allowVolatile) {
    throw new MillraceError(
      "redis_volatile",
      "Cannot use this Redis: it has no AOF, so a restart loses acknowledged events. " +
        "Mend it with: redis-cli CONFIG SET appendonly yes (and in redis.conf), " +
        "or set MILLRACE_REDIS_VOLATILE=1 to take the risk",
    );
  }
  const timeMicros = Number(info.get("server_time_usec") ?? Number.NaN);
  const timeMs = Number.isFinite(timeMicros) ? timeMicros / 1_000 : undefined;
  return { version: info.get("redis_version") ?? "unknown", aof, timeMs };
}

async function readInfo(url: string, timeoutMs: number): Promise<string> {
  const client = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    retryStrategy: () => null,
  });
  let refusal: Error | undefined;
  client.on("error", (error) => (refusal = error));
  const late = () => new Error(`no answer in ${timeoutMs} ms`);
  try {
    return await within(
      client.connect().then(() => client.info()),
      timeoutMs,
      late,
    );
  } catch (error) {
    const cause = refusal ?? error;
    const state = cause instanceof Error ? cause.message : String(cause);
    throw new MillraceError("redis_unreachable", `Cannot reach Redis: ${state}`, { cause });
  } finally {
    if (client.status === "ready") await settledWithin(client.quit(), 500);
    client.disconnect();
  }
}

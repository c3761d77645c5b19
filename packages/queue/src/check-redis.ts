import { asError, settlesWithin, withDeadline, MillraceError } from "@millrace/core";
import { Redis } from "ioredis";

export interface RedisFacts {
  readonly version: string;
  readonly aof: boolean;
  /** Its clock; undefined where INFO does not have it. */
  readonly timeMs: number | undefined;
}

const TIMEOUT_MS = 3_000;

/**
 * Refuses a Redis that would lose events: one that evicts keys, or that writes nothing to disk. Reads
 * only INFO, because managed services refuse CONFIG.
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
        "Repair it with: redis-cli CONFIG SET maxmemory-policy noeviction",
    );
  }
  const aof = info.get("aof_enabled") === "1";
  if (!aof && !options.allowVolatile) {
    throw new MillraceError(
      "redis_volatile",
      "Cannot use this Redis: it has no AOF, so a restart loses acknowledged events. " +
        "Repair it with: redis-cli CONFIG SET appendonly yes (and in redis.conf), " +
        "or set MILLRACE_REDIS_VOLATILE=1 to take the risk",
    );
  }
  const timeMicros = Number(info.get("server_time_usec") ?? Number.NaN);
  const timeMs = Number.isFinite(timeMicros) ? timeMicros / 1_000 : undefined;
  return { version: info.get("redis_version") ?? "unknown", aof, timeMs };
}

/** What Redis says in INFO, by name. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  const pairs = text.split(/\r?\n/).map((line) => line.split(":", 2));
  return new Map(pairs.flatMap(([name, value]) => (name && value ? [[name, value]] : [])));
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
    return await withDeadline(
      client.connect().then(() => client.info()),
      timeoutMs,
      late,
    );
  } catch (error) {
    const cause = refusal ?? asError(error);
    throw new MillraceError("redis_unreachable", `Cannot reach Redis: ${cause.message}`, { cause });
  } finally {
    if (client.status === "ready") await settlesWithin(client.quit(), 500);
    client.disconnect();
  }
}

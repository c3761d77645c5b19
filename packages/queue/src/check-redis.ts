import { asError, withDeadline, readUrl, MillraceError, type ErrorCode } from "@millrace/core";
import type { Redis } from "ioredis";
import { checkTopology, connectRedis, watchSentinels } from "./redis-address.ts";
import { quit } from "./redis-clients.ts";
import { onlineReplicas, parseInfo, watchDisk } from "./redis-durability.ts";

export interface RedisFacts {
  readonly version: string;
  readonly aof: boolean;
  /** False after a write to its append-only file failed: it refuses writes until one succeeds. */
  readonly writes: boolean;
  readonly maxmemoryPolicy: string;
  /** Replicas that are connected and in step or nearly so. */
  readonly replicas: number;
  readonly timeMs: number | undefined;
}

const TIMEOUT_MS = 3_000;

/** INFO alone: managed services refuse CONFIG. @throws `redis_unreachable`, `redis_topology` */
export async function readRedisFacts(url: string, timeoutMs = TIMEOUT_MS): Promise<RedisFacts> {
  const info = parseInfo(await ask(url, timeoutMs, (client) => client.info()));
  checkTopology(info);
  const timeMicros = Number(info.get("server_time_usec") ?? Number.NaN);
  return {
    version: info.get("redis_version") ?? "unknown",
    aof: info.get("aof_enabled") === "1",
    writes: info.get("aof_last_write_status") !== "err",
    maxmemoryPolicy: info.get("maxmemory_policy") ?? "unknown",
    replicas: onlineReplicas(info),
    timeMs: Number.isFinite(timeMicros) ? timeMicros / 1_000 : undefined,
  };
}

export interface RedisFault {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly fix: string;
}

/** Names everything for which a Redis is refused, the worst first. */
export function redisFaults({ maxmemoryPolicy, aof, writes }: RedisFacts): RedisFault[] {
  const faults: (RedisFault | false)[] = [
    maxmemoryPolicy !== "noeviction" && {
      code: "redis_evicts",
      detail: `its maxmemory-policy is "${maxmemoryPolicy}", so it may evict events`,
      fix: "redis-cli CONFIG SET maxmemory-policy noeviction (and in redis.conf)",
    },
    !aof && {
      code: "redis_volatile",
      detail: "it has no AOF, so a restart loses acknowledged events",
      fix: "redis-cli CONFIG SET appendonly yes (and in redis.conf)",
    },
    !writes && {
      code: "redis_not_writing",
      detail: "it cannot write its AOF, so it refuses writes",
      fix: "Free space on its disk: it tries again by itself",
    },
  ];
  return faults.filter((fault) => fault !== false);
}

/**
 * Refuses a Redis that would lose events: one that evicts keys, or writes nothing to disk.
 * @throws `redis_unreachable`, `redis_topology`, `redis_evicts`, `redis_volatile` (not with
 * `allowVolatile`), `redis_not_writing`
 */
export async function checkRedis(
  url: string,
  options: { allowVolatile: boolean; timeoutMs?: number },
): Promise<RedisFacts> {
  const facts = await readRedisFacts(url, options.timeoutMs);
  const faults = redisFaults(facts).filter(
    ({ code }) => code !== "redis_volatile" || !options.allowVolatile,
  );
  const [first] = faults;
  if (first === undefined) return facts;
  const details = faults.map(({ detail }) => detail).join(", and ");
  const fixes = faults.map(({ fix }) => fix).join("; ");
  const choice = faults.some(({ code }) => code === "redis_volatile")
    ? ", or set MILLRACE_REDIS_VOLATILE=1 to take the risk"
    : "";
  throw new MillraceError(
    first.code,
    `Cannot use this Redis: ${details}. Fix it with: ${fixes}${choice}`,
  );
}

/**
 * Reads when Redis forces its AOF to disk: `always`, `everysec` or `no`; undefined where Redis
 * does not say. A user of its own (infra/redis/users.acl) does not ask: Redis logs each refusal.
 * @throws `redis_unreachable`
 */
export async function readAppendfsync(url: string): Promise<string | undefined> {
  if (readUrl(url)?.username !== "") return undefined;
  return await ask(url, TIMEOUT_MS, async (client) => {
    const answer = await client.config("GET", "appendfsync").catch(() => undefined);
    return Array.isArray(answer) ? String(answer[1]) : undefined;
  });
}

/** @throws `redis_unreachable` */
export const isDiskSlow = (url: string): Promise<boolean> => ask(url, TIMEOUT_MS, watchDisk);

async function ask<Answer>(
  text: string,
  timeoutMs: number,
  question: (client: Redis) => Promise<Answer>,
): Promise<Answer> {
  const client = connectRedis(text, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    connectTimeout: timeoutMs,
    retryStrategy: () => null,
    sentinelRetryStrategy: () => null,
  });
  const sentinelProblem = watchSentinels(client);
  let refusal: Error | undefined;
  client.on("error", (error) => (refusal = error));
  // A server without TLS takes the handshake for a command, and waits for its end.
  const how = text.startsWith("rediss") ? "by TLS " : "";
  const late = () => new Error(`no answer ${how}in ${timeoutMs} ms`);
  try {
    const answer = await withDeadline(
      client.connect().then(() => question(client)),
      timeoutMs,
      late,
    );
    if (refusal !== undefined) throw refusal;
    return answer;
  } catch (error) {
    const problem = sentinelProblem();
    if (problem !== undefined) throw problem;
    const cause = refusal ?? asError(error);
    throw new MillraceError("redis_unreachable", `Cannot reach Redis: ${cause.message}`, { cause });
  } finally {
    await quit(client);
  }
}

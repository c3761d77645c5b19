import {
  isMillraceError,
  MillraceError,
  throwIf,
  wait,
  QueueKeys,
  type Environment,
} from "@millrace/core";
import type { Notify as NotifyIntake } from "@millrace/intake";
import { findPooler, openPool, type ConnectionReset } from "@millrace/ledger";
import {
  checkRedis,
  createPostgresQueues,
  createRedisQueues,
  readRedisFacts,
  isRedisOnThisMachine,
  type Notify as NotifyQueue,
  type PostgresQueuesOptions,
  type QueueNotice,
  type QueueRole,
  type Queues,
  type RedisQueuesOptions,
} from "@millrace/queue";
import { reasonOf, type Logger } from "@millrace/service";
import type { Finding } from "./check-database.ts";
import type { ConnectionUse } from "./connection-budget.ts";
import { connectLedger, sessionNeeded } from "./open-ledger.ts";

/** The variables that name the servers; queues are on Postgres without a `REDIS_URL`. */
export type StoreUrls = Partial<Environment>;

export interface StoreWatch {
  readonly onError?: (cause: string, error: unknown) => void;
  /** Called after each try that found a server away. Default: `onError`. */
  readonly onAway?: (store: "ledger" | "queue", error: unknown) => void;
  /** Called with everything that the queues report. Default: background errors go to `onError`. */
  readonly onQueueNotice?: NotifyQueue;
  /** Called with events of an ingress that the ledger keeps and the queue was not given. */
  readonly onIntakeNotice?: NotifyIntake;
  /** Called at the start with risks in a server's settings that the role can work with. */
  readonly onFinding?: (finding: Finding) => void;
  /** Called at the start of a worker with the use of Postgres' connections, and its own maximum. */
  readonly onConnections?: (use: ConnectionUse, own: number) => void;
  /** Called when a worker may run no more jobs: another database's workers have its queue. */
  readonly onLost?: (error: MillraceError) => void;
  /** Called when a connection to Postgres is closed because of what a handler did to it. */
  readonly onConnectionReset?: (reset: ConnectionReset) => void;
}

export function withAwayLog(watch: StoreWatch): StoreWatch {
  return { onAway: (store, error) => watch.onError?.(`${store}: away`, error), ...watch };
}

type QueueSettings = Omit<RedisQueuesOptions, "url" | "notify" | "keys" | "prefix">;

/** Milliseconds in which a new connection must work; before that, queues answer with errors. */
const FIRST_ANSWER_MS: Partial<Record<QueueRole, number>> = { ingress: 3_000, cli: 5_000 };
const FIRST_ANSWER_PAUSE_MS = 10;

/**
 * @throws `redis_unreachable`, `database_unreachable` or `database_unavailable` while the server
 * is away; `redis_topology`, `redis_evicts`, `redis_volatile`, `queue_key_missing`,
 * `session_needed` when waiting does not help
 */
export async function openQueues(
  urls: StoreUrls,
  settings: QueueSettings,
  { onQueueNotice, onError }: StoreWatch = {},
): Promise<Queues> {
  const { REDIS_URL, MILLRACE_REDIS_VOLATILE, QUEUE_PREFIX: prefix } = urls;
  const keys = queueKeys(urls);
  const { role } = settings;
  if (REDIS_URL !== undefined && (role === "ingress" || role === "worker")) {
    await checkRedis(REDIS_URL, { allowVolatile: MILLRACE_REDIS_VOLATILE === "1" });
  } else if (REDIS_URL !== undefined && role === "dashboard") {
    // It shows the ledger while Redis is away, and no queue of a Redis that keeps none.
    await readRedisFacts(REDIS_URL).catch(throwIf("redis_topology"));
  }
  let lastError: unknown;
  const notify = (notice: QueueNotice) => {
    onQueueNotice?.(notice);
    if (notice.kind !== "background_error") return;
    lastError = notice.error;
    if (onQueueNotice === undefined) onError?.(`queue: ${notice.cause}`, notice.error);
  };
  const queues =
    REDIS_URL === undefined
      ? await createPostgresQueues({ ...settings, notify, openPool: await poolOfQueues(urls) })
      : createRedisQueues({ ...settings, notify, keys, prefix, url: REDIS_URL });
  const withinMs = FIRST_ANSWER_MS[role];
  if (withinMs === undefined) return queues;
  try {
    await firstAnswer(queues, withinMs);
    return queues;
  } catch (error) {
    await queues.close();
    throw withReason(error, lastError);
  }
}

/** Poolers leave out LISTEN and the schema. @throws `session_needed`, `database_unavailable` */
async function poolOfQueues(urls: StoreUrls): Promise<PostgresQueuesOptions["openPool"]> {
  const variable =
    urls.DATABASE_SESSION_URL === undefined ? "DATABASE_URL" : "DATABASE_SESSION_URL";
  const url = urls[variable] ?? "";
  const { pool, close } = connectLedger({ url, max: 2, applicationName: "millrace-queue" });
  try {
    if ((await findPooler(pool)) === "none") return (settings) => openPool(url, settings);
  } finally {
    await close();
  }
  throw sessionNeeded("the queue", variable);
}

async function firstAnswer(queues: Queues, withinMs: number): Promise<void> {
  const deadlineMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await queues.ping();
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
    }
    await wait(FIRST_ANSWER_PAUSE_MS);
  }
}

// A ping reports no cause; the background error does.
function withReason(error: unknown, reason: unknown): unknown {
  if (reason === undefined || !isMillraceError(error)) return error;
  return new MillraceError(error.code, `Cannot reach the queue: ${reasonOf(reason)}`, {
    cause: error,
  });
}

/**
 * The keys that sign jobs on Redis. None on Postgres, where anyone who can add a job can write to
 * the ledger too, and none where Redis is on this machine and no key is set.
 * @throws `queue_key_missing` for a Redis that other machines may reach; `invalid_config`
 */
export function queueKeys({ REDIS_URL, MILLRACE_QUEUE_KEY }: StoreUrls): QueueKeys | undefined {
  if (REDIS_URL === undefined) return undefined;
  if (MILLRACE_QUEUE_KEY !== undefined) return new QueueKeys(MILLRACE_QUEUE_KEY);
  if (isRedisOnThisMachine(REDIS_URL)) return undefined;
  throw new MillraceError(
    "queue_key_missing",
    "Cannot use this Redis: it is, or may be, on another machine, so jobs must be signed, and MILLRACE_QUEUE_KEY is not set." +
      " Make a key with `openssl rand -hex 32`, and give it to every ingress, worker, dashboard, and command",
  );
}

export function warnIfUnsigned(
  { REDIS_URL, MILLRACE_QUEUE_KEY }: StoreUrls,
  logger: Pick<Logger, "warn">,
): void {
  if (REDIS_URL === undefined || MILLRACE_QUEUE_KEY !== undefined) return;
  logger.warn(
    "jobs are not signed: anyone who can write to Redis can make workers run events; set MILLRACE_QUEUE_KEY",
  );
}

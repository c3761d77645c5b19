import { MillraceError, QueueKeys, type Environment } from "@millrace/core";
import { isRedisOnThisMachine } from "@millrace/queue";
import type { Logger } from "@millrace/service";

type KeyVariables = Partial<Pick<Environment, "REDIS_URL" | "MILLRACE_QUEUE_KEY">>;

/**
 * The keys that sign jobs on Redis. None on Postgres, where anyone who can add a job can write to
 * the ledger too, and none where Redis is on this machine and no key is set.
 * @throws `queue_key_missing` for a Redis that other machines may reach; `invalid_config`
 */
export function queueKeys({ REDIS_URL, MILLRACE_QUEUE_KEY }: KeyVariables): QueueKeys | undefined {
  if (REDIS_URL === undefined) return undefined;
  if (MILLRACE_QUEUE_KEY !== undefined) return new QueueKeys(MILLRACE_QUEUE_KEY);
  if (isRedisOnThisMachine(REDIS_URL)) return undefined;
  throw new MillraceError(
    "queue_key_missing",
    "Cannot use this Redis: it is, or may be, on another machine, so jobs must be signed, and MILLRACE_QUEUE_KEY is not set." +
      " Make a key with `openssl rand -hex 32`, and give it to every ingress, worker, dashboard, and command",
  );
}

/** Says in the log that jobs on Redis are not signed, which is for a developer's machine. */
export function warnIfUnsigned(
  { REDIS_URL, MILLRACE_QUEUE_KEY }: KeyVariables,
  logger: Pick<Logger, "warn">,
): void {
  if (REDIS_URL === undefined || MILLRACE_QUEUE_KEY !== undefined) return;
  logger.warn(
    "jobs are not signed: anyone who can write to Redis can make workers run events; set MILLRACE_QUEUE_KEY",
  );
}

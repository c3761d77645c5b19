import { MillraceError, type Config, type Environment } from "@millrace/core";
import { storeTimeoutMs } from "@millrace/intake";
import type { Notify, Queues } from "@millrace/queue";
import { openPostgres, type PostgresStore } from "./open-postgres.ts";
import { openRedis } from "./open-redis.ts";
import { createPatientStore, type PatientStore } from "./patient-store.ts";

export interface StoresOptions {
  readonly environment: Environment;
  readonly config: Config;
  /** Hears of a server that is away, of connections that die, and of what the queue tells. */
  readonly trouble: (cause: string, error: unknown) => void;
}

/** The servers that an ingress keeps events on, each as soon as it is there. */
export interface Stores {
  readonly redis: PatientStore<{ queues: Queues; close(): Promise<void> }> | undefined;
  readonly postgres: PatientStore<PostgresStore> | undefined;
}

/**
 * Names the servers of the environment; nothing is connected yet.
 *
 * @throws `invalid_config` when there is none.
 */
export function createStores({ environment, config, trouble }: StoresOptions): Stores {
  const { REDIS_URL, DATABASE_URL, MILLRACE_REDIS_VOLATILE } = requireStorage(environment);
  const stores = [REDIS_URL, DATABASE_URL].filter((url) => url !== undefined).length;
  const timeoutMs = storeTimeoutMs(config.ingress, stores);
  const allowVolatile = MILLRACE_REDIS_VOLATILE === "1";
  const queueOptions = (name: string, url: string) => ({
    url,
    sources: Object.keys(config.sources),
    notify: hear(name, trouble),
    enqueueTimeoutMs: Math.min(timeoutMs, ENQUEUE_TIMEOUT_MS_MAX),
  });
  const patience = (name: string) => ({
    name,
    onAway: (error: unknown) => trouble(`${name}: away`, error),
  });
  const redis = (url: string) => () => openRedis(queueOptions("queue", url), { allowVolatile });
  const postgres = (url: string) => () =>
    openPostgres(queueOptions("ledger", url), {
      withQueues: REDIS_URL === undefined,
      statementTimeoutMs: timeoutMs,
    });
  return {
    redis: REDIS_URL ? createPatientStore(redis(REDIS_URL), patience("queue")) : undefined,
    postgres: DATABASE_URL
      ? createPatientStore(postgres(DATABASE_URL), patience("ledger"))
      : undefined,
  };
}

/** A queue that takes longer is shut and probed, also where there is no other place. */
const ENQUEUE_TIMEOUT_MS_MAX = 800;

function hear(name: string, trouble: StoresOptions["trouble"]): Notify {
  return (notice) => {
    if (notice.kind === "background_error") trouble(`${name}: ${notice.cause}`, notice.error);
  };
}

function requireStorage(environment: Environment): Environment {
  if (environment.REDIS_URL !== undefined || environment.DATABASE_URL !== undefined) {
    return environment;
  }
  throw new MillraceError(
    "invalid_config",
    "Cannot start the ingress: neither REDIS_URL nor DATABASE_URL is set. Set REDIS_URL, such as" +
      " redis://127.0.0.1:6379, or run `millrace start`, which brings a Postgres of its own",
  );
}

import { settlesWithin, wait } from "@millrace/core";
import { Redis, type RedisOptions } from "ioredis";

/** A process' connections to Redis. BullMQ duplicates the workers' one for commands that block. */
export interface RedisClients {
  /** Shared by all queues. Fails fast: no command waits for a connection, or without a limit. */
  readonly producer: Redis;
  /** Shared by all workers, made when first asked for. Waits until Redis is back. */
  worker(): Redis;
  close(): Promise<void>;
}

interface Options {
  readonly url: string;
  readonly connectionName: string;
  readonly commandTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

const QUIT_TIMEOUT_MS = 500;
const INFO_RETRY_DELAY_MS = 250;

const SHARED: RedisOptions = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (times) => Math.min(times * 100, 1_000),
};

/** Opens the producers' connection, and the workers' when it is first needed. */
export function createRedisClients(options: Options): RedisClients {
  const producer = new Redis(options.url, {
    ...SHARED,
    connectionName: options.connectionName,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // A command that was cut off is not sent again: it fails by its time limit, and its sender decides.
    autoResendUnfulfilledCommands: false,
    commandTimeout: options.commandTimeoutMs,
    // A socket on which commands stay unanswered so long is half-open: a new one is made.
    socketTimeout: 5_000,
  });
  producer.on("error", options.onError);
  endTimeoutWithSocket(producer);
  retryInfo(producer);

  let worker: Redis | undefined;
  const blocking = new Set<Redis>();
  return {
    producer,
    worker: () => (worker ??= createWorkerClient(options, blocking)),
    close: async () => {
      for (const client of [worker, ...blocking]) client?.disconnect();
      await quit(producer);
    },
  };
}

function createWorkerClient(options: Options, blocking: Set<Redis>): Redis {
  const client = new Redis(options.url, {
    ...SHARED,
    connectionName: options.connectionName,
    maxRetriesPerRequest: null,
    // No commandTimeout: BullMQ takes a time-out for a failure of the job. A silent socket is
    // replaced instead, after longer than any blocking read (ten seconds).
    socketTimeout: 30_000,
  });
  client.on("error", options.onError);
  endTimeoutWithSocket(client);
  // BullMQ duplicates this client for each worker. The copies are kept, so that a dead Redis
  // cannot keep a process from ending.
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const copy = duplicate(override);
    copy.on("error", options.onError);
    endTimeoutWithSocket(copy);
    copy.once("end", () => blocking.delete(copy));
    blocking.add(copy);
    return copy;
  };
  return client;
}

/**
 * ioredis 5.11.1 leaves the timer of `socketTimeout` running when its socket closes. It then ends the
 * next connection, which is healthy, and keeps a closed client's process alive (redis/ioredis#2147).
 */
function endTimeoutWithSocket(client: Redis): void {
  client.on("close", () => {
    clearTimeout(client["socketTimeoutTimer"]);
    client["socketTimeoutTimer"] = undefined;
  });
}

/**
 * BullMQ sends INFO on a new connection once, and a queue whose INFO timed out would stay
 * unusable as long as the process lives. So it is sent again until it is answered.
 */
function retryInfo(client: Redis): void {
  const info = client.info.bind(client);
  const untilAnswered = async (): Promise<string> => {
    for (;;) {
      try {
        return await info();
      } catch (error) {
        if (client.status === "end") throw error;
        await wait(INFO_RETRY_DELAY_MS);
      }
    }
  };
  // ioredis passes a callback, for its own check that the server is ready.
  Object.assign(client, {
    info: (...args: Parameters<typeof info>) =>
      args.length === 0 ? untilAnswered() : info(...args),
  });
}

async function quit(client: Redis): Promise<void> {
  if (client.status === "ready") await settlesWithin(client.quit(), QUIT_TIMEOUT_MS);
  client.disconnect();
}

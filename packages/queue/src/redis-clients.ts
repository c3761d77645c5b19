import { settlesWithin, wait } from "@millrace/core";
import type { Redis, RedisOptions } from "ioredis";
import { connectRedis } from "./redis-address.ts";

interface Options {
  readonly url: string;
  readonly connectionName: string;
  readonly commandTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

const QUIT_TIMEOUT_MS = 500;
const INFO_RETRY_DELAY_MS = 250;
const CONNECT_AGAIN_MS = 250;

const SHARED: RedisOptions = {
  connectTimeout: 5_000,
  keepAlive: 10_000,
  retryStrategy: (times) => Math.min(times * 100, 1_000),
};

/** A process' connections to Redis. BullMQ duplicates the workers' one for commands that block. */
export function createRedisClients(options: Options) {
  const producer = connectRedis(options.url, {
    ...SHARED,
    connectionName: options.connectionName,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    // A command that was cut off is not sent again: its sender decides.
    autoResendUnfulfilledCommands: false,
    commandTimeout: options.commandTimeoutMs,
    // A socket on which commands stay unanswered so long is half-open: a new one is made.
    socketTimeout: 5_000,
    // Sentinel says so when another server is the primary, also where the old one is silent.
    failoverDetector: true,
  });
  producer.on("error", options.onError);
  endTimeoutWithSocket(producer);
  const closing = new AbortController();
  retryInfo(producer, closing.signal);
  connectAgainAfterEnd(producer, closing.signal);

  let worker: Redis | undefined;
  const blocking = new Set<Redis>();
  let before: string | undefined;
  producer.on("ready", () => {
    const address = addressOf(producer);
    const isOther = before !== undefined && address !== before;
    before = address;
    // A blocking read on the old server would notice after half a minute only.
    for (const client of isOther ? [worker, ...blocking] : []) {
      if (client === undefined || !["connect", "ready"].includes(client.status)) continue;
      if (addressOf(client) !== address) client.disconnect(true);
    }
  });
  return {
    /** Shared by all queues. Fails fast: no command waits for a connection, or without a limit. */
    producer,
    /** Shared by all workers, made when first asked for. Waits until Redis is back. */
    worker: (): Redis => (worker ??= createWorkerClient(options, blocking)),
    close: async () => {
      closing.abort();
      for (const client of [worker, ...blocking]) client?.disconnect();
      await quit(producer);
    },
  };
}

function createWorkerClient(options: Options, blocking: Set<Redis>): Redis {
  const client = connectRedis(options.url, {
    ...SHARED,
    connectionName: options.connectionName,
    maxRetriesPerRequest: null,
    // No commandTimeout: BullMQ would fail the job. Longer than any blocking read (ten seconds).
    socketTimeout: 30_000,
  });
  const watch = (watched: Redis): Redis => {
    endTimeoutWithSocket(watched);
    endBetweenConnections(watched);
    return watched.on("error", options.onError);
  };
  // The copies are kept, so that a dead Redis cannot keep a process from ending.
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const copy = watch(duplicate(override));
    copy.once("end", () => blocking.delete(copy));
    blocking.add(copy);
    return copy;
  };
  return watch(client);
}

function addressOf({ stream }: Redis): string {
  const { remoteAddress = "", remotePort = 0 } = stream;
  return `${remoteAddress} ${remotePort}`;
}

// ioredis 5.11.1 leaves the timer of `socketTimeout` running when its socket closes. It then ends
// the next connection, and keeps a closed client's process alive (redis/ioredis#2147).
function endTimeoutWithSocket(client: Redis): void {
  client.on("close", () => {
    clearTimeout(client["socketTimeoutTimer"]);
    client["socketTimeoutTimer"] = undefined;
  });
}

/** ioredis 5.11.1 does not emit the end of a client that ends between two connections. */
function endBetweenConnections(client: Redis): void {
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    const isBetween = client.status === "reconnecting";
    disconnect(reconnect);
    if (!isBetween || reconnect) return;
    client["setStatus"]("end");
    client["flushQueue"](new Error("Connection is closed."));
  };
}

/** ioredis 5.11.1 ends a client for good when Sentinel reports a new primary while it connects. */
function connectAgainAfterEnd(client: Redis, closing: AbortSignal): void {
  const connect = async () => {
    await wait(CONNECT_AGAIN_MS, closing);
    if (closing.aborted) return;
    // Where that fails, the client has emitted the error, and has ended again.
    await client.connect().catch(() => {});
  };
  client.on("end", () => void connect());
}

/** BullMQ sends INFO once, and a queue whose INFO timed out would stay unusable. */
function retryInfo(client: Redis, closing: AbortSignal): void {
  const info = client.info.bind(client);
  const untilAnswered = async (): Promise<string> => {
    for (;;) {
      try {
        return await info();
      } catch (error) {
        if (closing.aborted) throw error;
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

export async function quit(client: Redis): Promise<void> {
  if (client.status === "ready") await settlesWithin(client.quit(), QUIT_TIMEOUT_MS);
  client.disconnect();
}

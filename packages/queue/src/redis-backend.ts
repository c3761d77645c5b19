import { once } from "node:events";
import { Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { STREAMS } from "./job-options.ts";
import { makeReadable } from "./process-job.ts";
import { createRedisAdd } from "./redis-add.ts";
import { finishTogether } from "./redis-finish.ts";
import type { RedisClients } from "./redis-clients.ts";
import { createRedisQueries } from "./redis-queries.ts";

/** Answers of Redis that concern the server and not the command. */
const SERVER_FAULT =
  /^(?:OOM|LOADING|READONLY|NOREPLICAS|MISCONF|MASTERDOWN|BUSY|CLUSTERDOWN|TRYAGAIN|NOAUTH|WRONGPASS|NOPERM)\b/;

/** BullMQ on Redis through ioredis. */
export function createRedisBackend(clients: RedisClients): Backend {
  const { producer } = clients;
  return {
    name: "redis",
    unready: () =>
      producer.status === "ready" ? undefined : `the connection to Redis is ${producer.status}`,
    createQueue: (name) => new Queue(name, { connection: producer, streams: STREAMS }),
    createWorker: (name, processor, options) => {
      const connection = clients.worker();
      const worker = new Worker(name, processor, { ...options, connection });
      return finishTogether(makeReadable(worker), connection);
    },
    add: createRedisAdd(producer),
    isPoison: (error) =>
      error instanceof Error && error.name === "ReplyError" && !SERVER_FAULT.test(error.message),
    ...createRedisQueries(producer),
    ping: async () => {
      await connected(producer);
      await producer.ping();
    },
    close: () => clients.close(),
  };
}

/** Waits while a connection is being made; `once` rejects with the error that ends it. */
async function connected(client: Redis): Promise<void> {
  if (["wait", "connecting", "connect"].includes(client.status)) await once(client, "ready");
}

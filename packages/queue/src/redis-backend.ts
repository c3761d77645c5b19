import { once } from "node:events";
import type { QueueKeys } from "@millrace/core";
import { Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend, QueueServer } from "./backend.ts";
import { STREAMS } from "./job-options.ts";
import { makeReadable } from "./bullmq-patches/readable-jobs.ts";
import { createRedisAdd } from "./bullmq-patches/redis-add.ts";
import { finishTogether } from "./bullmq-patches/redis-finish.ts";
import type { DurabilityWatch } from "./redis-durability.ts";
import type { RedisClients } from "./redis-clients.ts";
import { createRedisQueries } from "./redis-queries.ts";
import { defineFetching } from "./bullmq-patches/redis-script.ts";

/** Answers of Redis that concern the server and not the command. */
const SERVER_FAULT =
  /^(?:OOM|LOADING|READONLY|NOREPLICAS|MISCONF|MASTERDOWN|UNBLOCKED|BUSY|CLUSTERDOWN|TRYAGAIN|NOAUTH|WRONGPASS|NOPERM)\b/;

/** BullMQ on Redis through ioredis. */
export function createRedisBackend(
  clients: RedisClients,
  keys: QueueKeys | undefined,
  durability: DurabilityWatch,
): Backend {
  const { producer } = clients;
  const queries = createRedisQueries(producer);
  const server: QueueServer = {
    unready: () =>
      producer.status === "ready" ? undefined : `the connection to Redis is ${producer.status}`,
    ping: async () => {
      await connected(producer);
      await producer.ping();
    },
  };
  return {
    name: "redis",
    keys,
    serverOf: () => server,
    createQueue: (name) => new Queue(name, { connection: producer, streams: STREAMS }),
    createWorker: (name, processor, options) => {
      const connection = clients.worker();
      defineFetching(connection);
      const worker = new Worker(name, processor, { ...options, connection });
      return makeReadable(finishTogether(worker, connection), connection);
    },
    add: createRedisAdd(producer, keys, queries.snapshots),
    isPoison: (error) =>
      error instanceof Error && error.name === "ReplyError" && !SERVER_FAULT.test(error.message),
    ...queries,
    waitForReplicas: durability.waitForReplicas,
    risk: durability.risk,
    close: async () => {
      durability.close();
      await clients.close();
    },
  };
}

/** Waits while a connection is being made; `once` rejects with the error that ends it. */
async function connected(client: Redis): Promise<void> {
  if (["wait", "connecting", "connect"].includes(client.status)) await once(client, "ready");
}

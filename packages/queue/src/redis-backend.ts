import { once } from "node:events";
import type { QueueKeys } from "@millrace/core";
import { Queue, Worker } from "bullmq";
import type { Backend } from "./backend.ts";
import { createRedisAdd } from "./bullmq-patches/redis-add.ts";
import { defineFetching } from "./bullmq-patches/redis-script.ts";
import { patchWorker } from "./bullmq-patches/redis-worker.ts";
import { createQueues, ENQUEUE_TIMEOUT_MS } from "./create-queues.ts";
import { STREAMS } from "./jobs.ts";
import { createErrorReporter, type ReportError } from "./notices.ts";
import type { Queues, QueuesOptions } from "./queues.ts";
import type { JobOwner } from "./queue-owner.ts";
import { createRedisClients } from "./redis-clients.ts";
import { createDurabilityWatch } from "./redis-durability.ts";
import { createRedisQueries } from "./redis-queries.ts";

export interface RedisQueuesOptions extends QueuesOptions {
  readonly url: string;
  /** Sign jobs and check them. Default: jobs are taken at their word. */
  readonly keys?: QueueKeys | undefined;
  /** Begins the names of all keys. Default `bull`, which is BullMQ's. */
  readonly prefix?: string | undefined;
  /** The ledger that the jobs are for. Its id is in each job, and workers run no other's. */
  readonly owner?: JobOwner;
  /** Replicas that must have an event before `enqueue` answers for it. Default 0. */
  readonly replicas?: number;
}

const COMMAND_GRACE_MS = 200;
/** The part of an enqueue's time that replicas have. What is in line behind it has the rest. */
const REPLICA_SHARE = 0.25;

/** Returns at once, also when Redis is down: `enqueue` then answers with errors. */
export function createRedisQueues(options: RedisQueuesOptions): Queues {
  const reportError = createErrorReporter(options.notify);
  return createQueues(createRedisBackend(options, reportError), options, reportError);
}

const SERVER_FAULT =
  /^(?:OOM|LOADING|READONLY|NOREPLICAS|MISCONF|MASTERDOWN|UNBLOCKED|BUSY|CLUSTERDOWN|TRYAGAIN|NOAUTH|WRONGPASS|NOPERM)\b/;

function createRedisBackend(options: RedisQueuesOptions, onError: ReportError): Backend {
  const { keys, prefix, owner = {}, replicas = 0 } = options;
  const { enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS } = options;
  const clients = createRedisClients({
    url: options.url,
    connectionName: `millrace-${options.role}`,
    // Longer than the deadline of an enqueue, which opens the circuit breaker.
    commandTimeoutMs: enqueueTimeoutMs + COMMAND_GRACE_MS,
    onError,
  });
  const replicaTimeoutMs = Math.max(1, Math.floor(enqueueTimeoutMs * REPLICA_SHARE));
  const { producer } = clients;
  const durability = createDurabilityWatch(producer, { replicas, replicaTimeoutMs });
  const named = { streams: STREAMS, ...(prefix === undefined ? {} : { prefix }) };
  const queries = createRedisQueries(producer);
  return {
    name: "redis",
    keys,
    owner,
    unready: () =>
      producer.status === "ready" ? undefined : `the connection to Redis is ${producer.status}`,
    ping: async () => {
      if (["wait", "connecting", "connect"].includes(producer.status))
        await once(producer, "ready");
      await producer.ping();
    },
    createQueue: (name) => new Queue(name, { ...named, connection: producer }),
    createWorker: (name, processor, settings) => {
      const connection = clients.worker();
      defineFetching(connection);
      const worker = new Worker(name, processor, { ...settings, ...named, connection });
      return patchWorker(worker, connection);
    },
    add: createRedisAdd(producer, { keys, owner }, queries.statuses),
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

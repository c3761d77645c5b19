import { once } from "node:events";
import { asError } from "@millrace/core";
import { Queue, Worker, type JobJson } from "bullmq";
import type { Redis } from "ioredis";
import type { Backend } from "./backend.ts";
import { STREAMS } from "./job-options.ts";
import { createRedisAdd } from "./redis-add.ts";
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
    createWorker: (name, processor, options) =>
      surviveUnreadable(new Worker(name, processor, { ...options, connection: clients.worker() })),
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

/**
 * A job whose data was edited into something that is not JSON cannot be read by BullMQ: it would stay
 * active and stall forever, and break every page that lists it. It is made readable instead, so
 * that it fails like any other job that Millrace did not write.
 */
function surviveUnreadable(worker: Worker): Worker {
  const createJob = worker["createJob"].bind(worker);
  const orUnreadable = (json: JobJson, jobId: string) => {
    try {
      return createJob(json, jobId);
    } catch {
      const data = { unreadable: json.data.slice(0, 1_000) };
      const job = createJob({ ...json, data: JSON.stringify(data) }, jobId);
      job.updateData(data).catch((error: unknown) => worker.emit("error", asError(error)));
      return job;
    }
  };
  return Object.assign(worker, { createJob: orUnreadable });
}

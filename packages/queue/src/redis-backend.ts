import { once } from "node:events";
import { Queue, Worker, type JobJson } from "bullmq";
import type { Redis } from "ioredis";
import { addByBulk } from "./add-by-bulk.ts";
import { addByScript } from "./add-by-script.ts";
import { createAddScript } from "./add-script.ts";
import type { Backend } from "./backend.ts";
import { STREAMS } from "./job-options.ts";
import type { JobCounts } from "./queues.ts";
import type { RedisClients } from "./redis-clients.ts";
import { createRedisLook } from "./redis-look.ts";
import { lookAtRedis } from "./redis-pressure.ts";
import { asError } from "./trouble.ts";

/** Answers of Redis that concern the server and not the command. */
const SERVER_FAULT =
  /^(?:OOM|LOADING|READONLY|NOREPLICAS|MISCONF|MASTERDOWN|BUSY|CLUSTERDOWN|TRYAGAIN|NOAUTH|WRONGPASS|NOPERM)\b/;

/** BullMQ on Redis through ioredis. */
export function createRedisBackend(clients: RedisClients): Backend {
  const { producer } = clients;
  const script = createAddScript();
  return {
    name: "redis",
    unready: () =>
      producer.status === "ready" ? undefined : `the connection to Redis is ${producer.status}`,
    createQueue: (name) => new Queue(name, { connection: producer, streams: STREAMS }),
    createWorker: (name, processor, options) =>
      surviveUnreadable(new Worker(name, processor, { ...options, connection: clients.worker() })),
    add: (queue, jobs, options) =>
      script === undefined
        ? addByBulk(producer, queue, jobs, options)
        : addByScript({ client: producer, script }, queue, jobs, options),
    isPoison: (error) =>
      error instanceof Error && error.name === "ReplyError" && !SERVER_FAULT.test(error.message),
    forgetStalls: async (queue, jobId) => {
      await producer.hdel(queue.toKey(jobId), "stc");
    },
    counts: async (queues) => {
      const each = [...queues].map(
        async ([source, queue]) => [source, await count(queue)] as const,
      );
      return new Map(await Promise.all(each));
    },
    nextAddedAtMs: async (queue) => {
      const [job] = await queue.getJobs(["waiting"], 0, 0, true);
      return job?.timestamp;
    },
    pressure: (queues) => lookAtRedis(producer, queues),
    ...createRedisLook(producer),
    ping: async () => {
      await connected(producer);
      await producer.ping();
    },
    close: () => clients.close(),
  };
}

/** Waits while a connection is being made; `once` gives up with the error that ends it. */
async function connected(client: Redis): Promise<void> {
  if (["wait", "connecting", "connect"].includes(client.status)) await once(client, "ready");
}

/**
 * A job whose data was edited into something that is no JSON cannot be read by BullMQ: it would stay
 * active and stall for ever, and break every page that lists it. It is made readable instead, so
 * that it fails like any other job that we did not write.
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

async function count(queue: Queue): Promise<JobCounts> {
  const [counts, paused] = await Promise.all([
    queue.getJobCounts("waiting", "prioritized", "active", "delayed", "completed", "failed"),
    queue.isPaused(),
  ]);
  const of = (state: string) => counts[state] ?? 0;
  return {
    waiting: of("waiting") + of("prioritized"),
    active: of("active"),
    delayed: of("delayed"),
    completed: of("completed"),
    failed: of("failed"),
    paused,
  };
}

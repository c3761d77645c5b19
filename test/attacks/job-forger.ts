import { parseConfig } from "@millrace/core";
import type { Redis } from "ioredis";
import { onRedis } from "../support/backends.ts";
import { startStack } from "../support/pipeline.ts";
import { withQueue } from "../support/queue-fixture.ts";
import { withRedis } from "../support/redis-client.ts";
import { until } from "../support/until.ts";

interface EventRow {
  readonly generation: number;
  readonly type: string;
  readonly status: string;
  readonly code: string | null;
}

const ROWS =
  "select generation, type, status, last_error_code as code from millrace.events where event_id = $1 order by 1";

export async function startJobForger(config: object, queueKey: string) {
  const stack = await startStack(onRedis, {
    env: { MILLRACE_QUEUE_KEY: queueKey },
    config,
    dashboard: { dashboard: { config: parseConfig({ ...config, reconciler: { graceMs: 0 } }) } },
    worker: false,
  });
  const { servers, pipeline } = stack;
  let worker = await pipeline.startInProcess("worker");

  const rowsOf = async (eventId: string): Promise<EventRow[]> =>
    (await pipeline.database.query<EventRow>(ROWS, [eventId])).rows;

  return {
    ...stack,
    metrics: async () => await (await fetch(`${worker.url}/metrics`)).text(),
    restartWorker: async (key: string) => {
      await worker.close();
      worker = await pipeline.startInProcess("worker", { MILLRACE_QUEUE_KEY: key });
    },
    add: async (data: unknown, jobId: string, source = "acme") => {
      await withQueue(servers, source, (queue) => queue.add("by.hand", data, { jobId }));
    },
    edit: (
      source: string,
      deliver: () => Promise<unknown>,
      jobId: string,
      change: (data: Record<string, unknown>) => unknown,
    ) =>
      withQueue(servers, source, async (queue) => {
        await queue.pause();
        await deliver();
        const job = await until(() => queue.getJob(jobId), { what: `job ${jobId}` });
        await job.updateData(change(job.data));
        await queue.resume();
      }),
    redis: <T>(use: (client: Redis) => Promise<T>) => withRedis(String(servers.redisUrl), use),
    failedReason: (jobId: string, source = "acme") =>
      withQueue(servers, source, async (queue) => {
        const isOver = async () => ["failed", "completed"].includes(await queue.getJobState(jobId));
        await until(isOver, { what: `the end of ${jobId}` });
        return (await queue.getJob(jobId))?.failedReason;
      }),
    rowsOf,
    settled: async (eventId: string, status = "completed") => {
      const isThere = async () => (await rowsOf(eventId)).some((row) => row.status === status);
      await until(isThere, { what: `${eventId} ${status}` });
    },
  };
}

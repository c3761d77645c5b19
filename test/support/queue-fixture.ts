import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { openQueues } from "@millrace/connect";
import {
  parseConfig,
  type EventJob,
  type IncomingEvent,
  type JobResult,
  type WorkerConfig,
} from "@millrace/core";
import type { QueueRole, Queues, WorkOptions } from "@millrace/queue";
import type { Queue } from "bullmq";
import { anEvent } from "./events.ts";
import { environmentOf, type ServerUrls } from "./server-urls.ts";
import { until } from "./until.ts";

export async function openTestQueues(
  urls: ServerUrls,
  role: QueueRole,
  sources: readonly string[],
): Promise<Queues> {
  const queues = await openQueues(environmentOf(urls), { role, sources });
  try {
    await until(() => queues.ping().then(() => true));
  } catch (error) {
    await queues.close();
    throw error;
  }
  return queues;
}

/** Marks a queue as a worker does: an ingress without a database knows its ledger from that. */
export async function markQueue(redisUrl: string, source: string): Promise<void> {
  const queues = await openTestQueues({ databaseUrl: "", redisUrl }, "cli", [source]);
  await queues.takeMark(source, { ledger: "a-ledger", systemId: "", oid: "1", startedAtMs: 1 });
  await queues.close();
}

export async function withQueue<T>(
  urls: ServerUrls,
  source: string,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const queues = await openTestQueues(urls, "dashboard", [source]);
  try {
    const queue = queues.queues.get(source);
    if (queue === undefined) throw new Error(`Cannot open the queue of ${source}`);
    return await use(queue);
  } finally {
    await queues.close();
  }
}

export function event(eventId: string, over: Partial<IncomingEvent> = {}): IncomingEvent {
  return anEvent({
    ...{ source: "acme", eventId, type: "thing.happened", headers: { "x-topic": "things" } },
    body: Buffer.from(JSON.stringify({ id: eventId })),
    ...over,
  });
}

export function quickWorker(over: Partial<WorkerConfig> = {}): WorkerConfig {
  return { ...WORKER_DEFAULTS, lockDurationMs: 1_000, stalledIntervalMs: 500, ...over };
}

const WORKER_DEFAULTS: WorkerConfig = parseConfig({
  sources: { acme: { provider: { createVerifier: () => undefined } as never } },
}).worker;

export const COMPLETED: JobResult = { kind: "completed", outcome: "handled" };

/** Starts workers, and keeps the jobs that they ran and those that were abandoned. */
export function workOn(
  queues: Queues,
  run: (job: EventJob, turn: number) => JobResult | Promise<JobResult>,
  over: Partial<WorkOptions> = {},
) {
  const runs: EventJob[] = [];
  const abandoned: { job: EventJob; reason: string }[] = [];
  const workers = queues.work({
    // A busy machine must not lose a lock: the job would run once more.
    worker: quickWorker({ lockDurationMs: 12_000, stalledIntervalMs: 5_000 }),
    concurrency: () => 10,
    run: async (job) => run(job, runs.push(job)),
    onAbandoned: async (job, reason) => void abandoned.push({ job, reason }),
    ...over,
  });
  return { runs, abandoned, workers };
}

export async function dieWithJob(url: string, source: string): Promise<string> {
  const script = fileURLToPath(new URL("../fixtures/queue/holding-worker.mjs", import.meta.url));
  const child = spawn(process.execPath, [script, url, source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  try {
    for await (const line of createInterface(child.stdout)) {
      if (line.startsWith("took ")) return line.slice("took ".length);
    }
    throw new Error("Cannot let a worker die: it took no job");
  } finally {
    child.kill("SIGKILL");
    await gone;
  }
}

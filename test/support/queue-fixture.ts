import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bodyHash, parseConfig, type IncomingEvent, type WorkerConfig } from "@millrace/core";
import { createPostgresQueues, createRedisQueues } from "@millrace/queue";
import type { Queue } from "bullmq";
import { until } from "./until.ts";

export interface ServerUrls {
  readonly databaseUrl: string;
  /** Undefined where the queue is on Postgres. */
  readonly redisUrl: string | undefined;
}

/** Opens a source's queue, as somebody with access to its server could. */
export async function withQueue<T>(
  { databaseUrl, redisUrl }: ServerUrls,
  source: string,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const options = { sources: [source], role: "dashboard", notify: () => {} } as const;
  const queues =
    redisUrl === undefined
      ? await createPostgresQueues({ url: databaseUrl, ...options })
      : createRedisQueues({ url: redisUrl, ...options });
  try {
    await until(() => queues.ping().then(() => true));
    const queue = queues.queues.get(source);
    if (queue === undefined) throw new Error(`Cannot open the queue of ${source}`);
    return await use(queue);
  } finally {
    await queues.close();
  }
}

/** An event of source `acme` with a small JSON body. */
export function event(eventId: string, over: Partial<IncomingEvent> = {}): IncomingEvent {
  const body = over.body ?? Buffer.from(JSON.stringify({ id: eventId }));
  return {
    source: "acme",
    eventId,
    generation: 0,
    type: "thing.happened",
    acceptedAtMs: Date.now(),
    bodyHash: bodyHash(body),
    headers: { "x-topic": "things" },
    unsigned: false,
    body,
    ...over,
  };
}

/** A worker's settings with times so short that a test can wait for them. */
export function quickWorker(over: Partial<WorkerConfig> = {}): WorkerConfig {
  return { ...WORKER_DEFAULTS, lockDurationMs: 1_000, stalledIntervalMs: 500, ...over };
}

const WORKER_DEFAULTS: WorkerConfig = parseConfig({
  sources: { acme: { provider: { createVerifier: () => undefined } as never } },
}).worker;

/** Lets a worker in a process of its own take a job, and kills it there. Returns the run's name. */
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

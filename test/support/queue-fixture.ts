import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { bodyHash, parseConfig, type IncomingEvent, type WorkerConfig } from "@millrace/core";

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

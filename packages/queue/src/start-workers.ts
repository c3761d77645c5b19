import { fromEnvelope, type QueuedEvent, type SourcePolicy } from "@millrace/core";
import type { Job, WorkerOptions } from "bullmq";
import type { Backend } from "./backend.ts";
import { closeWorkers, type RunningWorker } from "./close-workers.ts";
import { delayOf } from "./comes-again.ts";
import { KEEP_COMPLETED } from "./job-options.ts";
import type { Notify } from "./notice.ts";
import { createProcessJob } from "./process-job.ts";
import { queueName } from "./queue-name.ts";
import type { WorkOptions, Workers } from "./queues.ts";
import { createRest } from "./rest-worker.ts";
import { runName } from "./run-name.ts";
import { createRuns, type Runs } from "./runs.ts";

/** Milliseconds between tries to fetch while the server refuses connections. BullMQ's own: 15 s. */
const RETRY_FETCH_MS = 1_000;

export interface StartDeps {
  readonly backend: Backend;
  readonly sources: readonly string[];
  readonly notify: Notify;
  readonly trouble: (error: unknown, source?: string) => void;
  readonly options: WorkOptions;
}

/** Starts a BullMQ worker for each source. */
export function startWorkers(deps: StartDeps): Workers {
  const runs = createRuns();
  const told = new Set<Promise<void>>();
  const workers = deps.sources.map((source) => startWorker(deps, source, { runs, told }));
  let closing: Promise<void> | undefined;
  return {
    get active() {
      return runs.active;
    },
    close: ({ timeoutMs }) => {
      closing ??= closeWorkers({ workers, runs, told }, timeoutMs);
      return closing;
    },
  };
}

interface Shared {
  readonly runs: Runs;
  /** `gaveUp` calls that are on. */
  readonly told: Set<Promise<void>>;
}

function startWorker(deps: StartDeps, source: string, { runs, told }: Shared): RunningWorker {
  const { notify, trouble, options } = deps;
  const ran = new WeakSet<Job>();
  const processJob = createProcessJob({ source, runs, run: options.run, notify, trouble });
  const worker = deps.backend.createWorker(
    queueName(source),
    (job) => {
      ran.add(job);
      return processJob(job);
    },
    {
      concurrency: options.concurrency(source),
      lockDuration: options.worker.lockDurationMs,
      stalledInterval: options.worker.stalledIntervalMs,
      maxStalledCount: options.worker.maxStalledCount,
      removeOnComplete: KEEP_COMPLETED,
      runRetryDelay: RETRY_FETCH_MS,
      settings: { backoffStrategy: delayOf },
      ...limiterOf(options.rate?.(source)),
    },
  );
  const rest = createRest(worker, source, notify);
  worker.on("error", (error) => {
    // Told by `lockRenewalFailed` already, and no sign of a sick server.
    if (error.message.startsWith("could not renew lock")) return;
    rest.hear();
    trouble(error, source);
  });
  worker.on("stalled", (jobId) => notify({ kind: "stalled", source, jobId }));
  worker.on("lockRenewalFailed", (jobIds) => {
    for (const jobId of jobIds) {
      if (runs.abort(source, jobId)) notify({ kind: "lock_lost", source, jobId });
    }
  });
  worker.on("failed", (job, error) => {
    // `failed` is said of every failed attempt; only a job with `finishedOn` has ended.
    if (job?.finishedOn === undefined || ran.has(job)) return;
    const telling = tellGaveUp(deps, source, job, error.message).finally(() =>
      told.delete(telling),
    );
    told.add(telling);
  });
  return { source, worker, rest };
}

/** BullMQ keeps the count on the server, so it holds over all workers that are told the same. */
function limiterOf(rate: SourcePolicy["rate"]): Pick<WorkerOptions, "limiter"> {
  return rate === undefined ? {} : { limiter: { max: rate.max, duration: rate.perMs } };
}

async function tellGaveUp(
  deps: StartDeps,
  source: string,
  job: Job,
  reason: string,
): Promise<void> {
  deps.notify({ kind: "gave_up", source, jobId: job.id ?? "", reason });
  try {
    const queued: QueuedEvent = {
      event: fromEnvelope(job.data),
      // BullMQ has counted the end by now; the run that it ended bore the number before.
      run: runName({
        timestamp: job.timestamp,
        attemptsMade: job.attemptsMade - 1,
        failedReason: reason,
      }),
      enqueuedAtMs: job.timestamp,
      signal: new AbortController().signal,
    };
    await deps.options.gaveUp(queued, reason);
  } catch (error) {
    deps.trouble(error, source);
  }
}

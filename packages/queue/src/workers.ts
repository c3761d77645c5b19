import { MillraceError, readEnvelope, settlesWithin } from "@millrace/core";
import type { Job, Worker } from "bullmq";
import {
  completedToKeep,
  KEEP_COMPLETED_BYTES,
  KEEP_COMPLETED_MS,
  addedAt,
  endedRunName,
  isForeign,
  isJobOf,
  queueName,
} from "./jobs.ts";
import type { Notify } from "./notices.ts";
import { createRuns, processJob, retryDelay, type Runs, type WorkDeps } from "./process-job.ts";
import type { Workers } from "./queues.ts";

/** Milliseconds between tries to fetch while the server refuses connections. BullMQ's own: 15 s. */
const FETCH_RETRY_DELAY_MS = 1_000;
const UNDO_TIMEOUT_MS = 2_000;
const BULLMQ_CLOSE_TIMEOUT_MS = 3_000;

interface Running {
  readonly runs: Runs;
  readonly abandoning: Set<Promise<void>>;
}

export function startWorkers(deps: WorkDeps): Workers {
  const { lockDurationMs } = deps.options.worker;
  const running: Running = { runs: createRuns({ lockDurationMs }), abandoning: new Set() };
  const workers = deps.sources.map((source) => startWorker(deps, source, running));
  let closing: Promise<void> | undefined;
  return {
    get active() {
      return running.runs.active;
    },
    close: ({ timeoutMs }) => (closing ??= closeWorkers(workers, running, timeoutMs)),
  };
}

type SourceWorker = ReturnType<typeof startWorker>;

function startWorker(deps: WorkDeps, source: string, { runs, abandoning }: Running) {
  const { notify, reportError, options } = deps;
  const { keepCompletedMs = KEEP_COMPLETED_MS } = options;
  const { keepCompletedBytes = KEEP_COMPLETED_BYTES } = options;
  const stripsCompleted = keepCompletedMs > 0 && options.keepsBodies?.(source) === false;
  const ofSource = { ...deps, source, runs, stripsCompleted };
  const called = new WeakSet<Job>();
  const rate = options.rate?.(source);
  const concurrency = () => options.concurrency(source);
  const completed = completedToKeep(deps.backend.name, {
    keepMs: keepCompletedMs,
    sourceBytes: keepCompletedBytes / deps.sources.length,
  });
  const process = (job: Job) => {
    called.add(job);
    worker.concurrency = concurrency();
    completed.count(stripsCompleted ? 0 : bodyChars(job));
    worker.opts.removeOnComplete = completed.keep;
    return processJob(ofSource, job);
  };
  const worker: Worker = deps.backend.createWorker(queueName(source), process, {
    concurrency: concurrency(),
    lockDuration: options.worker.lockDurationMs,
    stalledInterval: options.worker.stalledIntervalMs,
    maxStalledCount: options.worker.maxStalledCount,
    removeOnComplete: completed.keep,
    runRetryDelay: FETCH_RETRY_DELAY_MS,
    settings: { backoffStrategy: retryDelay },
    // BullMQ counts on the server: the limit is for all workers with the same setting together.
    ...(rate && { limiter: { max: rate.max, duration: rate.perMs } }),
  });
  const backoff = createErrorBackoff(worker, source, notify);
  worker.on("error", (error) => {
    if (error.message.startsWith("could not renew lock")) return;
    backoff.countError();
    reportError(error, source);
  });
  worker.on("stalled", (jobId) => notify({ kind: "stalled", source, jobId }));
  worker.on("lockRenewalFailed", (jobIds) => {
    for (const jobId of jobIds) {
      if (runs.abort(source, jobId)) notify({ kind: "lock_lost", source, jobId });
    }
  });
  worker.on("failed", (job, error) => {
    // BullMQ emits `failed` for every failed attempt; only a job with `finishedOn` has ended.
    if (job?.finishedOn === undefined || called.has(job)) return;
    const abandoned = abandonJob(deps, source, job, error.message).finally(() =>
      abandoning.delete(abandoned),
    );
    abandoning.add(abandoned);
  });
  return { worker, backoff };
}

/** Of the body that a job carries; a job may have been made up. */
function bodyChars({ data }: Job<{ body?: unknown } | null>): number {
  const body = data?.body;
  return typeof body === "string" ? body.length : 0;
}

async function abandonJob(deps: WorkDeps, source: string, job: Job, reason: string): Promise<void> {
  deps.notify({ kind: "job_abandoned", source, jobId: job.id ?? "", reason });
  const { timestamp, attemptsMade } = job;
  try {
    const read = readEnvelope(job.data, deps.backend.keys);
    if (isForeign(read.ledger, deps.backend.owner) || !isJobOf(read.event, source, job.id)) {
      throw new MillraceError("invalid_envelope", "Cannot fail its event: it is of another job");
    }
    const eventJob = {
      ...read,
      run: endedRunName({ timestamp, attemptsMade, failedReason: reason }),
      enqueuedAtMs: addedAt(job),
      signal: new AbortController().signal,
    };
    await deps.options.onAbandoned(eventJob, reason);
  } catch (error) {
    deps.reportError(error, source);
  }
}

async function closeWorkers(
  workers: readonly SourceWorker[],
  { runs, abandoning }: Running,
  timeoutMs: number,
): Promise<void> {
  for (const { backoff, worker } of workers) {
    backoff.stop();
    void worker.pause(true);
  }
  let idle = await runs.idle(timeoutMs);
  if (!idle) {
    runs.abortAll();
    idle = await runs.idle(UNDO_TIMEOUT_MS);
  }
  await settlesWithin(Promise.allSettled(abandoning), UNDO_TIMEOUT_MS);
  // BullMQ waits without end for a run that does not return, and for a Redis that is away.
  const closed = Promise.allSettled(workers.map(({ worker }) => worker.close(!idle)));
  await settlesWithin(closed, BULLMQ_CLOSE_TIMEOUT_MS);
}

const ERRORS_MAX = 5;
const ERROR_WINDOW_MS = 1_000;
const BACKOFF_MS = 1_000;

/** BullMQ asks again at once when Redis refuses (OOM, a replica) or Postgres is away. */
function createErrorBackoff(worker: Worker, source: string, notify: Notify) {
  let errors = 0;
  let windowStart = 0;
  let pause: NodeJS.Timeout | undefined;
  let stopped = false;

  function backOff(): void {
    pause = setTimeout(() => {
      pause = undefined;
      if (!stopped) void worker.resume();
    }, BACKOFF_MS);
    void worker.pause(true);
    notify({ kind: "backed_off", source, forMs: BACKOFF_MS });
  }

  return {
    countError: () => {
      const now = Date.now();
      if (now - windowStart > ERROR_WINDOW_MS) {
        windowStart = now;
        errors = 0;
      }
      errors += 1;
      if (errors >= ERRORS_MAX && pause === undefined && !stopped) backOff();
    },
    stop: () => {
      stopped = true;
      clearTimeout(pause);
    },
  };
}

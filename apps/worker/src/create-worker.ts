import {
  createEnqueueLater,
  type Config,
  type EventKey,
  type Handler,
  type OnEmitted,
} from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { createProcessor, type Notice, type ProcessorDeps } from "@millrace/processor";
import { createQueueLimits, type Queues } from "@millrace/queue";

export interface WorkerDeps {
  readonly ledger: Ledger["claims"];
  readonly queues: Pick<Queues, "work" | "backend" | "enqueue" | "pressure" | "signsJobs">;
  readonly handlers: readonly Handler[];
  readonly mayShare?: ((source: string) => boolean) | undefined;
  readonly projectDir?: string | undefined;
  readonly secrets?: readonly string[] | undefined;
  readonly notify: (notice: Notice) => void;
  readonly openLog?: ProcessorDeps["openLog"];
  readonly onHookError: (error: unknown) => void;
  readonly onLeftBehind: (error: unknown) => void;
}

export type Worker = ReturnType<typeof createWorker>;

type WorkerConfig = Pick<Config, "sources" | "worker" | "queue" | "errors" | "onFailed">;

const EMITTED_CLOSE_MS = 2_000;

export function createWorker(deps: WorkerDeps, config: WorkerConfig) {
  const { ledger, queues, handlers, notify, onHookError, onLeftBehind, openLog } = deps;
  const { mayShare, projectDir, secrets } = deps;
  const { sources, worker, onFailed } = config;
  const emitted = createEnqueueLater({
    queue: queues,
    markEnqueued: (keys) => ledger.markEnqueued(keys),
    onLost: (_, error) => onLeftBehind(error),
  });
  const isQueueFull = createQueueLimits(queues, sources);
  const onEmitted: OnEmitted = (events) => {
    for (const event of events) {
      if (!isQueueFull(event.source)) emitted.add(event, event.afterMs);
    }
  };
  const processor = createProcessor(
    { ledger, handlers, sources, onEmitted, onFailed, onHookError, notify, openLog },
    {
      concurrency: worker.concurrency,
      callsMax: worker.callsMax,
      handlerTimeoutMs: worker.handlerTimeoutMs,
      keepsStacks: config.errors.stack,
      projectDir,
      secrets,
      mayShare,
      signsJobs: queues.signsJobs,
    },
  );
  const workers = queues.work({
    worker,
    // Each event that makes calls admits one more job, so that calls do not reduce the others.
    concurrency: (source) =>
      sources[source]?.options.concurrency ??
      // On Postgres each job is fetched and finished by itself: whole groups ended in deadlocks.
      processor.calling(source) +
        (queues.backend === "redis" ? processor.jobsMax(source) : worker.concurrency),
    rate: (source) => sources[source]?.options.rate,
    keepCompletedMs: config.queue.keepCompletedMs,
    keepCompletedBytes: config.queue.keepCompletedBytes,
    // A job of an `ack: "ledger"` source has a body only if Postgres was unavailable.
    keepsBodies: (source) => sources[source]?.options.ack !== "ledger",
    run: processor.process,
    onAbandoned: processor.abandon,
  });

  async function close(): Promise<void> {
    processor.drain();
    await workers.close({ timeoutMs: worker.shutdownTimeoutMs });
    await processor.close();
    await emitted.close(EMITTED_CLOSE_MS);
  }

  let closed: Promise<void> | undefined;
  return {
    get running(): number {
      return processor.running;
    },
    get open(): boolean {
      return closed === undefined;
    },
    reportAbandoned: (key: EventKey, type: string, reason: string): void =>
      processor.reportAbandoned(key, type, reason),
    /** Takes no more jobs, waits up to `shutdownTimeoutMs`, then rolls back what runs. */
    close: (): Promise<void> => (closed ??= close()),
  };
}

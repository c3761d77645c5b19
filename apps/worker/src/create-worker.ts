import type { Config, EventKey, Handler } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import { createProcessor, type Notice } from "@millrace/processor";
import type { Queues } from "@millrace/queue";

export interface WorkerDeps {
  readonly ledger: Ledger["claims"];
  readonly queues: Pick<Queues, "work" | "backend">;
  readonly handlers: readonly Handler[];
  /** Whether first attempts of a source share a transaction; undefined when none is made that way. */
  readonly mayShare?: ((source: string) => boolean) | undefined;
  /** Gets what happens to events; for logs and metrics. */
  readonly notify: (notice: Notice) => void;
  /** Gets what the user's `onFailed` threw. */
  readonly onHookError: (error: unknown) => void;
}

export interface Worker {
  /** Events whose handlers run just now. */
  readonly running: number;
  /** True until `close` is called. */
  readonly open: boolean;
  /** Calls the user's `onFailed` for an event that the reconciler has failed. */
  reportAbandoned(key: EventKey, type: string, reason: string): void;
  /**
   * Takes no more jobs, waits up to `shutdownTimeoutMs` for what runs, then breaks it off: it is
   * undone, uses up no attempt, and runs again elsewhere.
   */
  close(): Promise<void>;
}

type WorkerConfig = Pick<Config, "sources" | "worker" | "onFailed">;

/** Takes jobs from every source's queue and processes their events, until it is closed. */
export function createWorker(deps: WorkerDeps, config: WorkerConfig): Worker {
  const { ledger, queues, handlers, notify, onHookError, mayShare } = deps;
  const { sources, worker, onFailed } = config;
  const processor = createProcessor(
    { ledger, handlers, sources, onFailed, onHookError, notify },
    {
      concurrency: worker.concurrency,
      handlerTimeoutMs: worker.handlerTimeoutMs,
      mayShare,
    },
  );
  const workers = queues.work({
    worker,
    concurrency: (source) =>
      sources[source]?.options.concurrency ??
      // On Postgres each job is fetched and finished by itself: a whole group at once was seen to end in deadlocks.
      (queues.backend === "redis" ? processor.jobsMax(source) : worker.concurrency),
    rate: (source) => sources[source]?.options.rate,
    run: processor.process,
    onAbandoned: processor.abandon,
  });

  async function close(): Promise<void> {
    processor.drain();
    await workers.close({ timeoutMs: worker.shutdownTimeoutMs });
    await processor.close();
  }

  let closed: Promise<void> | undefined;
  return {
    get running() {
      return processor.running;
    },
    get open() {
      return closed === undefined;
    },
    reportAbandoned: (key, type, reason) => processor.reportAbandoned(key, type, reason),
    close: () => (closed ??= close()),
  };
}

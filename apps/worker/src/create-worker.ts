import {
  settledWithin,
  type Config,
  type EventKey,
  type FailedEvent,
  type Handler,
} from "@millrace/core";
import { createProcessor, type Notice } from "@millrace/processor";
import type { Queues } from "@millrace/queue";
import { createFailureHook } from "./failure-hook.ts";
import type { WorkerLedger } from "./ports.ts";
import { settleGivenUp, settleJob, tellGivenUp } from "./settle-job.ts";

/** Milliseconds for what was broken off to be written down; Postgres may be away. */
const UNDO_MS = 3_000;

export interface WorkerDeps {
  readonly ledger: WorkerLedger;
  readonly queues: Pick<Queues, "work">;
  readonly handlers: readonly Handler[];
  readonly isDatabaseTrouble: (error: unknown) => boolean;
  /** Hears what becomes of events; for logs and metrics. */
  readonly notify: (notice: Notice) => void;
  /** Hears what the user's `onFailed` threw. */
  readonly onHookError: (error: unknown) => void;
}

export interface Worker {
  /** Events whose handlers run just now. */
  readonly running: number;
  /** True until `close` is called. */
  readonly open: boolean;
  /** Tells the user's `onFailed` of an event that the reconciler has failed. */
  tellGivenUp(event: EventKey & { readonly type: string }, reason: string): void;
  /**
   * Takes no more jobs, waits up to `shutdownTimeoutMs` for what runs, then breaks it off: it is
   * undone, uses up no attempt, and runs again elsewhere.
   */
  close(): Promise<void>;
}

type WorkerConfig = Pick<Config, "sources" | "worker" | "onFailed">;

/** Takes jobs from every source's queue and settles their events, until it is closed. */
export function createWorker(deps: WorkerDeps, config: WorkerConfig): Worker {
  const { worker, onFailed } = config;
  const hook = onFailed && createFailureHook(onFailed, deps.onHookError);
  const sources = new Map(Object.entries(config.sources));
  const processor = createProcessor(
    {
      ledger: deps.ledger,
      handlers: deps.handlers,
      sources: Object.fromEntries([...sources].map(([name, { options }]) => [name, options])),
      isDatabaseTrouble: deps.isDatabaseTrouble,
      notify: (notice) => {
        deps.notify(notice);
        if (notice.kind === "attempt_failed" && notice.final) hook?.tell(failedEvent(notice));
      },
    },
    { concurrency: worker.concurrency, handlerTimeoutMs: worker.handlerTimeoutMs },
  );
  const workers = deps.queues.work({
    worker,
    concurrency: (source) => sources.get(source)?.options.concurrency ?? worker.concurrency,
    rate: (source) => sources.get(source)?.options.rate,
    run: (job) => settleJob(job, { ...deps, processor }),
    gaveUp: (job, reason) => settleGivenUp(job, reason, { ledger: deps.ledger, hook }),
  });
  async function close(): Promise<void> {
    processor.drain();
    await workers.close({ timeoutMs: worker.shutdownTimeoutMs });
    await settledWithin(processor.close(), UNDO_MS);
    await hook?.close();
  }

  let closed: Promise<void> | undefined;
  return {
    get running() {
      return processor.running;
    },
    get open() {
      return closed === undefined;
    },
    tellGivenUp: (event, reason) => {
      tellGivenUp(event, reason, { ledger: deps.ledger, hook }).catch(deps.onHookError);
    },
    close: () => (closed ??= close()),
  };
}

function failedEvent(notice: Notice & { kind: "attempt_failed" }): FailedEvent {
  const { key, type, attempt: attempts, code, message } = notice;
  return { ...key, type, attempts, code, message };
}

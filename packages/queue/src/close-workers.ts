import { settledWithin } from "@millrace/core";
import type { Worker } from "bullmq";
import type { Runs } from "./runs.ts";

export interface RunningWorker {
  readonly source: string;
  readonly worker: Worker;
  readonly rest: { stop(): void };
}

interface Deps {
  readonly workers: readonly RunningWorker[];
  readonly runs: Runs;
  readonly told: ReadonlySet<Promise<void>>;
}

/** Milliseconds that an aborted run has to undo what it did. */
const UNDO_MS = 2_000;
/** Milliseconds that BullMQ has to write down what became of the last jobs. */
const BULLMQ_CLOSE_MS = 3_000;

/** Ends the workers: no new jobs, then patience, then aborted signals. */
export async function closeWorkers(deps: Deps, timeoutMs: number): Promise<void> {
  const { workers, runs } = deps;
  for (const { rest, worker } of workers) {
    rest.stop();
    void worker.pause(true);
  }
  let idle = await runs.idle(timeoutMs);
  if (!idle) {
    runs.abortAll();
    idle = await runs.idle(UNDO_MS);
  }
  await settledWithin(Promise.allSettled(deps.told), UNDO_MS);
  // BullMQ waits without end for a run that does not return, and for a Redis that is away.
  const closed = Promise.allSettled(workers.map(({ worker }) => worker.close(!idle)));
  await settledWithin(closed, BULLMQ_CLOSE_MS);
}

import { failpoint, hasCode, isMillraceError, wait } from "@millrace/core";
import { isDataError, type Ledger, type OpenBulkRun } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";
import { removeJobs } from "./give-up.ts";
import { addJobs, enqueuePending, requeueJobsAtOnce, requireJobs } from "./requeue.ts";

interface Deps {
  readonly ledger: Pick<Ledger, "bulkWork" | "retries">;
  readonly queues: Queues;
  readonly leading: () => boolean;
  readonly notify: (notice: BulkNotice) => void;
}

export type BulkNotice =
  | { readonly kind: "started" | "ended"; readonly run: OpenBulkRun }
  | { readonly kind: "waits" | "failed"; readonly run: OpenBulkRun; readonly error: unknown }
  | { readonly kind: "unreadable"; readonly error: unknown };

const POLL_MS = 1_000;
/** Events of a batch that is cut off between ledger and queue wait for the reconciler. */
const BATCH_MAX = 200;
const BATCHES_PER_SECOND = 5;
/** Milliseconds that a batch which came late is made up for. */
const MADE_UP_MS = 1_000;
const KEEP_RESULTS_MS = 60_000;

/** Works runs off while this process leads. All state is in their rows, for the next leader. */
export function startBulkRunner(deps: Deps): { close(): Promise<void> } {
  const { ledger, leading, notify } = deps;
  const closing = new AbortController();
  const pace = createPace();
  const judge = createJudge(ledger);
  let keptAt = -Infinity;

  async function work(): Promise<void> {
    while (!closing.signal.aborted) {
      await wait(await pass(), closing.signal);
    }
  }

  async function pass(): Promise<number> {
    if (!leading()) return POLL_MS;
    try {
      const runs = await ledger.bulkWork.open();
      pace.keep(runs);
      const running = runs.filter(({ state }) => state === "running");
      for (const run of running) {
        if (leading() && !closing.signal.aborted && pace.dueInMs(run) <= 0) await runBatch(run);
      }
      if (performance.now() - keptAt > KEEP_RESULTS_MS) {
        // Before, so that a count which takes too long does not hold up each pass.
        keptAt = performance.now();
        await ledger.bulkWork.keepResults();
      }
      return Math.min(POLL_MS, ...running.map((run) => Math.max(0, pace.dueInMs(run))));
    } catch (error) {
      notify({ kind: "unreadable", error });
      return POLL_MS;
    }
  }

  async function runBatch(run: OpenBulkRun): Promise<void> {
    const size = pace.sizeOf(run);
    try {
      const allowed = await judge(run, size);
      if (allowed === "stopped") notify({ kind: "ended", run });
      else if (allowed > 0) return pace.add(run, await workBatch(deps, run, allowed));
      pace.delay(run, size);
    } catch (error) {
      // Fewer may be done in time where so many were not: replays of large bodies copy them.
      pace.delay(run, hasCode(error, "database_unavailable") ? Math.ceil(size / 2) : size);
      await noteError(deps, run, error);
    }
  }

  const working = work();
  return {
    close: async () => {
      closing.abort();
      await working;
    },
  };
}

async function workBatch(
  { ledger, queues, notify }: Deps,
  run: OpenBulkRun,
  size: number,
): Promise<number> {
  // Giving up is the ledger's alone: the reconciler removes the jobs that stay.
  if (run.verb !== "give_up") await queues.ping();
  failpoint("bulk_run.before_batch");
  const isConfigured = (source: string) => queues.queues.has(source);
  const batch = await ledger.bulkWork.workBatch(run, { size, isConfigured });
  failpoint("bulk_run.committed");
  if (batch.kind === "superseded") return 0;
  if (!run.isTaken) notify({ kind: "started", run });
  if (batch.ended) notify({ kind: "ended", run });
  const { events, givenUp } = batch;
  const enqueue = run.verb === "replay" ? addJobs : requeueJobsAtOnce;
  requireJobs(await enqueuePending({ ledger, queues }, events, enqueue));
  await removeJobs({ ledger, queues }, givenUp);
  failpoint("bulk_run.enqueued");
  return events.length + givenUp.length;
}

/** A run that can never go on has failed. Any other waits for what is away. */
async function noteError(
  { ledger, notify }: Deps,
  run: OpenBulkRun,
  error: unknown,
): Promise<void> {
  const ended = isDataError(error) || hasCode(error, "invalid_request");
  notify({ kind: ended ? "failed" : "waits", run, error });
  const message = isMillraceError(error)
    ? error.message
    : "Cannot continue: Postgres or the queue failed, see the worker's log";
  if (message === run.error && !ended) return;
  try {
    await ledger.bulkWork.noteError(run.id, { message, ended });
  } catch {
    // Postgres is away, which the next pass finds too.
  }
}

/** Counting the results of a large run takes a while, which must not keep Postgres busy. */
function createJudge({ bulkWork }: Deps["ledger"]) {
  const judged = new Map<number, { readonly dueAt: number; readonly left: number }>();
  /** Returns how many of `size` events the run may reach now; with 0 it waits. */
  return async (run: OpenBulkRun, size: number): Promise<number | "stopped"> => {
    const isCanary = run.canaryState === "running";
    if (!isCanary && run.failedShareMax === null) return size;
    const askedAt = performance.now();
    let { dueAt, left } = judged.get(run.id) ?? { dueAt: 0, left: 0 };
    if (isCanary || askedAt >= dueAt) {
      const verdict = await bulkWork.judge(run);
      if (verdict === "stopped") return verdict;
      left = verdict;
      dueAt = performance.now() + 10 * (performance.now() - askedAt);
    }
    const allowed = Math.min(size, left);
    judged.set(run.id, { dueAt, left: left - allowed });
    return allowed;
  };
}

function createPace() {
  const last = new Map<number, Batch>();
  const dueMs = ({ id, rate }: OpenBulkRun): number => {
    const { fromMs, events } = last.get(id) ?? { fromMs: performance.now(), events: 0 };
    return fromMs + (events / rate) * 1_000;
  };
  const sizeMaxOf = ({ id }: OpenBulkRun): number => last.get(id)?.sizeMax ?? BATCH_MAX;
  return {
    /** More after a batch that took longer than its share of a second, to keep the rate. */
    sizeOf: (run: OpenBulkRun): number => {
      const lateMs = Math.min(MADE_UP_MS, Math.max(0, performance.now() - dueMs(run)));
      const wanted = run.rate / BATCHES_PER_SECOND + (run.rate * lateMs) / 1_000;
      return Math.max(1, Math.min(sizeMaxOf(run), Math.floor(wanted)));
    },
    /** The rate is the one that the run has now, so that a change of it takes effect at once. */
    dueInMs: (run: OpenBulkRun): number => dueMs(run) - performance.now(),
    add: (run: OpenBulkRun, events: number): void => {
      const fromMs = Math.max(dueMs(run), performance.now() - MADE_UP_MS);
      last.set(run.id, { fromMs, events, sizeMax: Math.min(BATCH_MAX, 2 * sizeMaxOf(run)) });
    },
    delay: (run: OpenBulkRun, sizeMax: number): void => {
      last.set(run.id, { fromMs: performance.now() + POLL_MS, events: 0, sizeMax });
    },
    /** Forgets the runs that have ended or are paused, so that they do not catch up later. */
    keep: (runs: readonly OpenBulkRun[]): void => {
      const running = new Set(runs.filter(({ state }) => state === "running").map(({ id }) => id));
      for (const id of last.keys()) if (!running.has(id)) last.delete(id);
    },
  };
}

interface Batch {
  /** When it was due, or a little before it ended if that is later. */
  readonly fromMs: number;
  readonly events: number;
  readonly sizeMax: number;
}

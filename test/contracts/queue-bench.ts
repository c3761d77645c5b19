import type { QueuedEvent, Settlement } from "@millrace/core";
import type { QueueNotice, Queues, WorkOptions } from "@millrace/queue";
import { afterEach, beforeEach } from "vitest";
import { event, quickWorker } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

/** What a backend gives the suite to stand on. */
export interface QueueGround {
  readonly url: string;
  open(sources: readonly string[], notify: (notice: QueueNotice) => void): Promise<Queues>;
  /** Gives the job's lock to someone else. */
  stealLock(queue: string, jobId: string): Promise<void>;
  /** Connections that the server counts, without the one that asks. */
  connections(): Promise<number>;
  release(): Promise<void>;
}

/** What the contract's tests work with: queues of sources `acme` and `other`, fresh for each. */
export interface QueueBench {
  readonly ground: QueueGround;
  readonly queues: Queues;
  readonly notices: readonly QueueNotice[];
  /** Starts the workers, and keeps the runs that they are given. */
  work(
    run: (job: QueuedEvent, turn: number) => Settlement | Promise<Settlement>,
    over?: Partial<WorkOptions>,
  ): { runs: QueuedEvent[]; gaveUp: { job: QueuedEvent; reason: string }[] };
  /** The state of source acme's job. */
  stateOf(eventId: string): Promise<string | undefined>;
  untilState(eventId: string, state: string): Promise<unknown>;
  kinds(): string[];
  /** Closes these queues too, when the test is over. */
  alsoClose(queues: Queues): void;
}

/** Prepares the ground before each test and clears it after. */
export function useQueueBench(prepare: () => Promise<QueueGround>): QueueBench {
  let ground: QueueGround;
  let queues: Queues;
  let notices: QueueNotice[];
  const others: Queues[] = [];

  beforeEach(async () => {
    ground = await prepare();
    notices = [];
    queues = await ground.open(["acme", "other"], (notice) => notices.push(notice));
    await until(() => queues.ping().then(() => true));
  });

  afterEach(async () => {
    await Promise.all([queues, ...others.splice(0)].map((each) => each.close()));
    await ground.release();
  });

  const stateOf = async (eventId: string): Promise<string | undefined> =>
    (await queues.findJob(event(eventId)))?.state;
  return {
    get ground() {
      return ground;
    },
    get queues() {
      return queues;
    },
    get notices() {
      return notices;
    },
    work: (run, over = {}) => {
      const runs: QueuedEvent[] = [];
      const gaveUp: { job: QueuedEvent; reason: string }[] = [];
      queues.work({
        worker: quickWorker(),
        concurrency: () => 10,
        run: async (job) => run(job, runs.push(job)),
        gaveUp: async (job, reason) => void gaveUp.push({ job, reason }),
        ...over,
      });
      return { runs, gaveUp };
    },
    stateOf,
    untilState: (eventId, state) =>
      until(async () => (await stateOf(eventId)) === state, { what: `${eventId} ${state}` }),
    kinds: () => notices.map((notice) => notice.kind),
    alsoClose: (more) => void others.push(more),
  };
}

export const COMPLETED: Settlement = { kind: "completed", outcome: "handled" };

export const RETRY: Settlement & { kind: "retry" } = {
  kind: "retry",
  afterMs: 60_000,
  code: "handler_failed",
  message: "not yet",
  recorded: false,
};

/** A run that ends when its signal aborts, and leaves its job for later. */
export function untilAborted(job: QueuedEvent): Promise<Settlement> {
  return new Promise((resolve) => {
    const end = () => resolve({ kind: "lost", afterMs: 60_000 });
    if (job.signal.aborted) end();
    job.signal.addEventListener("abort", end, { once: true });
  });
}

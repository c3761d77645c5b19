import type { EventJob, JobResult } from "@millrace/core";
import type { QueueNotice, Queues, WorkOptions } from "@millrace/queue";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { event, quickWorker } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

export interface QueueServer {
  readonly url: string;
  open(sources: readonly string[], notify: (notice: QueueNotice) => void): Promise<Queues>;
  stealLock(queue: string, jobId: string): Promise<void>;
  /** Connections that the server counts, without the one that asks. */
  connections(): Promise<number>;
  clear(): Promise<void>;
  release(): Promise<void>;
}

/** What the contract's tests work with: queues of sources `acme` and `other`, fresh for each. */
export interface QueueFixture {
  readonly server: QueueServer;
  readonly queues: Queues;
  readonly notices: readonly QueueNotice[];
  work(
    run: (job: EventJob, turn: number) => JobResult | Promise<JobResult>,
    over?: Partial<WorkOptions>,
  ): { runs: EventJob[]; abandoned: { job: EventJob; reason: string }[] };
  stateOf(eventId: string): Promise<string | undefined>;
  untilState(eventId: string, state: string): Promise<unknown>;
  kinds(): string[];
  alsoClose(queues: Queues): void;
}

export function useQueueFixture(prepare: () => Promise<QueueServer>): QueueFixture {
  let server: QueueServer;
  let queues: Queues;
  let notices: QueueNotice[];
  const others: Queues[] = [];

  beforeAll(async () => {
    server = await prepare();
  });
  afterAll(() => server?.release());

  beforeEach(async () => {
    notices = [];
    queues = await server.open(["acme", "other"], (notice) => notices.push(notice));
    await until(() => queues.ping().then(() => true));
  });

  afterEach(async () => {
    await Promise.all([queues, ...others.splice(0)].map((each) => each.close()));
    await server.clear();
  });

  const stateOf = async (eventId: string): Promise<string | undefined> =>
    (await queues.findJob(event(eventId)))?.state;
  return {
    get server() {
      return server;
    },
    get queues() {
      return queues;
    },
    get notices() {
      return notices;
    },
    work: (run, over = {}) => {
      const runs: EventJob[] = [];
      const abandoned: { job: EventJob; reason: string }[] = [];
      queues.work({
        worker: quickWorker(),
        concurrency: () => 10,
        run: async (job) => run(job, runs.push(job)),
        onAbandoned: async (job, reason) => void abandoned.push({ job, reason }),
        ...over,
      });
      return { runs, abandoned };
    },
    stateOf,
    untilState: (eventId, state) =>
      until(async () => (await stateOf(eventId)) === state, { what: `${eventId} ${state}` }),
    kinds: () => notices.map((notice) => notice.kind),
    alsoClose: (more) => void others.push(more),
  };
}

export const COMPLETED: JobResult = { kind: "completed", outcome: "handled" };

export const RETRY: JobResult & { kind: "retry" } = {
  kind: "retry",
  afterMs: 60_000,
  code: "handler_failed",
  message: "not yet",
  recorded: false,
};

/** A run that ends when its signal aborts, and leaves its job for later. */
export function untilAborted(job: EventJob): Promise<JobResult> {
  return new Promise((resolve) => {
    const end = () => resolve({ kind: "lost", afterMs: 60_000 });
    if (job.signal.aborted) end();
    job.signal.addEventListener("abort", end);
  });
}

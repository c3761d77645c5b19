import type { EventJob, JobResult } from "@millrace/core";
import type { QueueNotice, Queues, WorkOptions } from "@millrace/queue";
import { afterEach, beforeEach } from "vitest";
import { openForAll } from "../support/open-for.ts";
import { event, workOn } from "../support/queue-fixture.ts";
import { until } from "../support/until.ts";

export interface QueueServer {
  readonly url: string;
  open(sources: readonly string[], notify: (notice: QueueNotice) => void): Promise<Queues>;
  stealLock(queue: string, jobId: string): Promise<void>;
  connections(): Promise<number>;
  clear(): Promise<void>;
  release(): Promise<void>;
}

export type QueueFixture = ReturnType<typeof useQueueFixture>;

export function useQueueFixture(prepare: () => Promise<QueueServer>) {
  const server = openForAll(prepare);
  let queues: Queues;
  let notices: QueueNotice[];
  const others: Queues[] = [];

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
    server,
    get queues(): Queues {
      return queues;
    },
    get notices(): readonly QueueNotice[] {
      return notices;
    },
    work: (run: Parameters<typeof workOn>[1], over?: Partial<WorkOptions>) =>
      workOn(queues, run, over),
    stateOf,
    untilState: (eventId: string, state: string) =>
      until(async () => (await stateOf(eventId)) === state, { what: `${eventId} ${state}` }),
    kinds: (): string[] => notices.map((notice) => notice.kind),
    alsoClose: (more: Queues) => void others.push(more),
  };
}

export const RETRY: JobResult & { kind: "retry" } = {
  kind: "retry",
  afterMs: 60_000,
  code: "handler_failed",
  message: "not yet",
  recorded: false,
};

export function untilAborted(job: EventJob): Promise<JobResult> {
  return new Promise((resolve) => {
    const end = () => resolve({ kind: "lost", afterMs: 60_000 });
    if (job.signal.aborted) end();
    job.signal.addEventListener("abort", end);
  });
}

import type {
  EnvelopedEvent,
  EventKey,
  IncomingEvent,
  Placement,
  QueuedEvent,
  Settlement,
  SourcePolicy,
  WorkerConfig,
} from "@millrace/core";
import type { Queue } from "bullmq";

/** Every source's queue, in one object a process. The same on Redis and on Postgres. */
export interface Queues {
  readonly backend: "redis" | "postgres";
  /** BullMQ's own queues by source, for bull-board. */
  readonly queues: ReadonlyMap<string, Queue>;
  /**
   * Adds events, of several sources in one call: one answer an event, in order, never thrown. All
   * answers come within the deadline; an event that was answered with an error may still arrive
   * later, which does no harm. The code of an error is `unavailable` where the server was at fault,
   * and not the event. What the queue says of an event that it knows is a hint, for it
   * forgets. When it need not be `exact` (the default for identities only), it may say `duplicate`
   * or `accepted` of all that it knows.
   */
  enqueue(
    events: readonly IncomingEvent[],
    options?: { identityOnly?: boolean; exact?: boolean },
  ): Promise<readonly Placement[]>;
  /** Runs the jobs of every source. Once a process. */
  work(options: WorkOptions): Workers;
  /** A job as it stands in its queue; undefined when the queue does not have it. */
  findJob(key: EventKey): Promise<FoundJob | undefined>;
  /** Makes a failed job wait again, with a run of another name. */
  retryJob(key: EventKey): Promise<"retried" | "not_failed" | "not_found">;
  /** Makes a completed job wait again: for an event that the ledger has pending all the same. */
  rerunJob(key: EventKey): Promise<"retried" | "not_completed" | "not_found">;
  /**
   * What the queue has of many jobs, in one round trip a source: one answer a key, in order; undefined
   * for a job that it does not have.
   */
  glance(keys: readonly EventKey[]): Promise<readonly (JobGlance | undefined)[]>;
  /** A page of a source's jobs that have ended, oldest end first. */
  endedJobs(source: string, state: "failed" | "completed", from?: EndedFrom): Promise<EndedJobs>;
  /**
   * What `writeEpoch` left in each source's queue, with the name of the server's run on Redis: another
   * value than before says that the queue may have lost jobs. Undefined where nothing is left.
   */
  epochs(): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(source: string, epoch: string): Promise<void>;
  /** Stops a source's jobs from being taken by any worker, until `resume`. */
  pause(source: string): Promise<void>;
  resume(source: string): Promise<void>;
  counts(): Promise<ReadonlyMap<string, JobCounts>>;
  /** Milliseconds since the job that is next was taken in; undefined when none waits. */
  oldestWaitingAgeMs(source: string): Promise<number | undefined>;
  /**
   * How full the queues are, as last looked: no round trip. The first call begins to look, about
   * every second and in the background, until `close`.
   */
  pressure(): Pressure;
  /** The same, looked at now. */
  measurePressure(): Promise<Pressure>;
  /** @throws `redis_unreachable` or `database_unreachable` when there is no answer in time. */
  ping(): Promise<void>;
  /** Ends the workers, if any, and every connection. Bounded, also when the server is dead. */
  close(): Promise<void>;
}

export interface WorkOptions {
  readonly worker: WorkerConfig;
  /** Jobs of a source that run at once in this process. */
  concurrency(source: string): number;
  /** Jobs of a source that all its workers together begin in a time. Default: no limit. */
  rate?(source: string): SourcePolicy["rate"];
  /** What is done with a job. What it throws is unexpected, and makes the job come again. */
  run(job: QueuedEvent): Promise<Settlement>;
  /** Hears of a job that was failed without being run (its workers died too often). */
  gaveUp(job: QueuedEvent, reason: string): Promise<void>;
}

export interface Workers {
  /** How many runs are on. */
  readonly active: number;
  /**
   * Takes no more jobs, waits up to `timeoutMs` for those that run, then aborts their signals.
   * Never hangs; a job that is left behind runs again elsewhere.
   */
  close(options: { timeoutMs: number }): Promise<void>;
}

/** A job as the queue has it. */
export interface FoundJob {
  readonly jobId: string;
  readonly state: "waiting" | "active" | "delayed" | "completed" | "failed" | "unknown";
  readonly run: string;
  readonly enqueuedAtMs: number;
  readonly finishedAtMs: number | undefined;
  readonly failedReason: string | undefined;
  /** What the job says; undefined when its data is not an envelope. */
  readonly event: EnvelopedEvent | undefined;
}

/** How a job stands: it waits or runs, now or later; or it has ended. */
export type JobGlance =
  { readonly state: "live" } | (JobEnd & { readonly state: "failed" | "completed" });

/** How a job ended. */
interface JobEnd {
  /** By the clock of the worker that ended it. */
  readonly finishedAtMs: number;
  /** The run that ended. */
  readonly run: string;
  readonly failedReason: string | undefined;
}

/** A job that has ended. */
export interface EndedJob extends JobEnd {
  readonly jobId: string;
  /** Without headers and body; undefined when the job is not one that Millrace wrote. */
  readonly event: EnvelopedEvent | undefined;
}

/** Where a page of ended jobs begins: at this time, after so many that ended in that millisecond. */
export interface EndedFrom {
  readonly atMs: number;
  readonly skip: number;
}

export interface EndedJobs {
  readonly jobs: readonly EndedJob[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: EndedFrom | undefined;
}

/** Jobs of a source by state. `waiting` are those that a worker may take, or could if not paused. */
export interface JobCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly completed: number;
  readonly failed: number;
  readonly paused: boolean;
}

/** How full the queues are. It goes on changing. */
export interface Pressure {
  /** Redis' used memory as a part of its maxmemory; undefined without one, and on Postgres. */
  readonly memoryShare: number | undefined;
  /** Of one source's queue. Nothing waits in one that has not been looked at yet. */
  of(source: string): SourcePressure;
}

export interface SourcePressure {
  /** Jobs that wait for a worker or for the time of their next attempt. */
  readonly depth: number;
  /** Milliseconds that the oldest job has waited for its first attempt; undefined when none does. */
  readonly oldestAgeMs: number | undefined;
}

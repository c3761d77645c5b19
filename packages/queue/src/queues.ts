import type {
  CircuitBreaker,
  EnvelopedEvent,
  ErrorCode,
  EventKey,
  IncomingEvent,
  StoreResult,
  EventJob,
  JobResult,
  MacProblem,
  SourcePolicy,
  WorkerConfig,
} from "@millrace/core";
import type { Queue } from "bullmq";
import type { Notify } from "./notices.ts";
import type { OwnerClaim, QueueMark, TakenMark } from "./queue-owner.ts";

export type QueueRole = "ingress" | "worker" | "dashboard" | "cli";

export interface QueuesOptions {
  readonly sources: readonly string[];
  readonly role: QueueRole;
  readonly notify: Notify;
  readonly enqueueTimeoutMs?: number;
}

export interface Queues {
  readonly backend: "redis" | "postgres";
  /** True when jobs are signed; each job then comes with the verdict on its MAC. */
  readonly signsJobs: boolean;
  readonly queues: ReadonlyMap<string, Queue>;
  /**
   * Adds events, of several sources in one call: one answer an event, in order, never thrown,
   * within the deadline. An event with an error may still arrive later, without harm.
   * `unavailable` is the server's fault. The answer for a known event is a hint, because the queue
   * forgets; unless `exact` (the default with bodies), it may be `duplicate` or `accepted`.
   * `delaysMs`: until each job may begin; a known job keeps its own time.
   */
  enqueue(
    events: readonly IncomingEvent[],
    options?: { identityOnly?: boolean; exact?: boolean; delaysMs?: readonly number[] },
  ): Promise<readonly StoreResult[]>;
  /** Runs the jobs of every source. Once a process. */
  work(options: WorkOptions): Workers;
  findJob(key: EventKey): Promise<FoundJob | undefined>;
  /** The newest waiting jobs, by 4 kB of each. None on Postgres: the ledger has their events. */
  waitingJobs(source: string, query: WaitingQuery): Promise<WaitingJobs>;
  /** Moves a failed job back to those that wait; its next run has another name. */
  retryJob(key: EventKey): Promise<"retried" | "not_failed" | "not_found">;
  /** Moves a completed job back to those that wait, when its event is pending in the ledger. */
  rerunJob(key: EventKey): Promise<"retried" | "not_completed" | "not_found">;
  /** Moves a delayed job to those that wait. */
  promoteJob(key: EventKey): Promise<"retried" | "not_delayed" | "not_found">;
  removeJob(key: EventKey): Promise<boolean>;
  /** The queue's jobs of many keys, in one round trip a source: one answer a key, in order. */
  jobStatuses(keys: readonly EventKey[]): Promise<readonly (JobStatus | undefined)[]>;
  /** A page of a source's jobs that have ended, oldest end first: 500, or `pageMax`. */
  finishedJobs(
    source: string,
    state: "failed" | "completed",
    from?: FinishedFrom,
    pageMax?: number,
  ): Promise<FinishedJobs>;
  /** With the server's `run_id`: a new value means that the queue may have lost jobs. */
  epochs(sources: readonly string[]): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(source: string, epoch: string): Promise<void>;
  /** The marks that `writeLedgerMark` wrote on Redis; Postgres is restored as a whole. */
  ledgerMarks(sources: readonly string[]): Promise<ReadonlyMap<string, string>>;
  writeLedgerMark(source: string, mark: string): Promise<void>;
  /** Counts jobs that completed since a time and that the queue, on Redis, no longer has. */
  forgotten(source: string, sinceMs: number): Promise<Forgotten>;
  /** @throws `redis_unreachable` */
  readMark(source: string): Promise<QueueMark | undefined>;
  /**
   * Marks a queue on Redis as a ledger's, unless another's is live; undefined on Postgres.
   * @throws `redis_unreachable`
   */
  takeMark(source: string, claim: OwnerClaim): Promise<TakenMark | undefined>;
  /** Removes some at a time. A queue removes old jobs by itself only as others complete. */
  removeCompleted(keepMs: number, signal?: AbortSignal): Promise<number>;
  pause(source: string): Promise<void>;
  resume(source: string): Promise<void>;
  counts(): Promise<ReadonlyMap<string, JobCounts>>;
  /** The last measurement, without a round trip. The first call starts to measure every second. */
  pressure(): Pressure;
  measurePressure(): Promise<Pressure>;
  /** The server's; a caller may trip it. While it is open, `enqueue` answers with errors. */
  readonly breaker: Pick<CircuitBreaker, "isOpen" | "trip">;
  /** @throws `redis_unreachable` or `database_unreachable` when there is no answer in time */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface WorkOptions {
  readonly worker: WorkerConfig;
  /** Jobs of a source that run at once in this process. It is asked again when a job begins. */
  concurrency(source: string): number;
  rate?(source: string): SourcePolicy["rate"];
  readonly keepCompletedMs?: number;
  readonly keepCompletedBytes?: number;
  /** True when completed jobs of a source keep their body. Default: they do. */
  keepsBodies?(source: string): boolean;
  /** An error is unexpected, and makes BullMQ run the job again. */
  run(job: EventJob): Promise<JobResult>;
  onAbandoned(job: EventJob, reason: string): Promise<void>;
}

export interface Workers {
  readonly active: number;
  /** Waits up to `timeoutMs` for the running jobs, then aborts them: they run again elsewhere. */
  close(options: { timeoutMs: number }): Promise<void>;
}

export interface FoundJob {
  readonly jobId: string;
  readonly state: "waiting" | "active" | "delayed" | "completed" | "failed" | "unknown";
  readonly run: string;
  readonly enqueuedAtMs: number;
  readonly finishedAtMs: number | undefined;
  readonly failedReason: string | undefined;
  readonly event: EnvelopedEvent | undefined;
  readonly mac: MacProblem | undefined;
}

export interface WaitingQuery {
  /** Of these events alone. Looked for among the 1,000 newest. */
  readonly type?: string | undefined;
  readonly limit: number;
}

export interface WaitingJobs {
  /** The jobs that wait, of whatever type, without those whose time has not come. */
  readonly count: number;
  readonly jobs: readonly FoundJob[];
}

export type JobStatus =
  { readonly state: "live" } | (JobEnd & { readonly state: "failed" | "completed" });

export interface JobEnd {
  readonly finishedAtMs: number;
  readonly run: string;
  readonly failedReason: string | undefined;
}

export interface FinishedJob extends JobEnd {
  readonly jobId: string;
  /** Without headers and body; undefined when the job cannot be read. */
  readonly event: EnvelopedEvent | undefined;
  readonly mac: MacProblem | undefined;
  readonly problem?: JobProblem;
}

export interface JobProblem {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Jobs that completed and that their queue no longer has, whatever their events were. */
export interface Forgotten {
  /** About how many: completions are counted by the minute, and for a week. */
  readonly count: number;
  /** When the oldest job completed that the queue still has; now when it has none. */
  readonly tillMs: number;
}

/** The beginning of a page of finished jobs: a time, and a number of jobs of that millisecond. */
export interface FinishedFrom {
  readonly atMs: number;
  readonly skip: number;
}

export interface FinishedJobs {
  readonly jobs: readonly FinishedJob[];
  readonly next: FinishedFrom | undefined;
}

export interface JobCounts {
  readonly waiting: number;
  readonly active: number;
  readonly delayed: number;
  readonly completed: number;
  readonly failed: number;
  /** About how many others have removed, on Redis. */
  readonly removed: number;
  readonly paused: boolean;
}

/** The reason why Redis may lose a confirmed write, although it answers. */
export type QueueRisk = Extract<ErrorCode, "redis_disk_slow" | "redis_no_replica">;

/** The pressure on the queues. The object is live: its values change. */
export interface Pressure {
  readonly risk?: QueueRisk | undefined;
  /** Redis' used memory as a share of its maxmemory; undefined without one, and on Postgres. */
  readonly memoryShare: number | undefined;
  of(source: string): SourcePressure;
}

export interface SourcePressure {
  /** Jobs that wait for a worker or for the time of their next attempt. */
  readonly depth: number;
  /** Milliseconds that the oldest unbegun job has waited. */
  readonly oldestAgeMs: number | undefined;
}

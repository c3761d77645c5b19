import type { IncomingEvent, StoreResult } from "@millrace/core";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { PressureReading } from "./pressure.ts";
import type { FinishedFrom, JobCounts } from "./queues.ts";

/** A job on its way into a queue. */
export interface NewJob {
  readonly id: string;
  /** The job is named by its type; an envelope of it is the job's data. */
  readonly event: IncomingEvent;
}

export interface AddOptions {
  /** Whether the caller wants the state and the body hash of a job that the queue had before compared. */
  readonly exact: boolean;
  /** Whether the ledger has the bodies and headers, and the jobs do without. */
  readonly identityOnly: boolean;
}

/** A job as the queue has it, without its data. */
export interface JobSnapshot {
  /** Undefined while it has not ended. */
  readonly state: "failed" | "completed" | undefined;
  readonly addedAtMs: number;
  /** Zero while it has not ended. */
  readonly finishedAtMs: number;
  readonly attemptsMade: number;
  readonly failedReason: string | undefined;
}

/** A job that has ended, and its data without headers and body, as JSON. */
export interface FinishedSnapshot extends JobSnapshot {
  readonly id: string;
  readonly data: string;
}

/** Which of the jobs that have ended. */
export interface FinishedQuery {
  readonly state: "failed" | "completed";
  readonly from: FinishedFrom;
  readonly limit: number;
}

/** What Redis and Postgres do differently. Everything else of this package is written once. */
export interface Backend {
  readonly name: "redis" | "postgres";
  /** Why no command can be sent now, in words; undefined when one can. */
  unready(): string | undefined;
  /** A producer's queue: it fails fast. */
  createQueue(name: string): Queue;
  createWorker(
    name: string,
    processor: Processor,
    options: Omit<WorkerOptions, "connection">,
  ): Worker;
  /**
   * Adds jobs to one queue and answers for each. Of several with one id and different
   * bodies, the first is kept. Throws when any of them failed and it cannot say which; some may
   * have been added then.
   */
  add(queue: Queue, jobs: readonly NewJob[], options: AddOptions): Promise<readonly StoreResult[]>;
  /** Whether an error is the fault of one job, so that the others are worth a try without it. */
  isPoison(error: unknown): boolean;
  /** Forgets how often a job lost its worker, so that a retry gets the whole allowance again. */
  forgetStalls(queue: Queue, jobId: string): Promise<void>;
  /** What the queue has of jobs, in one round trip: one answer an id. */
  snapshots(queue: Queue, ids: readonly string[]): Promise<readonly (JobSnapshot | undefined)[]>;
  /** Jobs that have ended, oldest end first. */
  finished(queue: Queue, query: FinishedQuery): Promise<readonly FinishedSnapshot[]>;
  /** The epoch in each queue, with whatever else identifies its server. */
  epochs(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(queue: Queue, epoch: string): Promise<void>;
  counts(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, JobCounts>>;
  /** How full the server and the queues are, in one round trip. */
  pressure(queues: ReadonlyMap<string, Queue>): Promise<PressureReading>;
  /** Resolves when the server has answered. */
  ping(): Promise<void>;
  /** Cuts every connection, the workers' too. Bounded, also when the server is dead. */
  close(): Promise<void>;
}

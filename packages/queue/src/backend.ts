import type { IncomingEvent, QueueKeys, StoreResult } from "@millrace/core";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { PressureReading } from "./pressure.ts";
import type { FinishedFrom, Forgotten, JobCounts, QueueRisk } from "./queues.ts";

export interface NewJob {
  readonly id: string;
  /** The job is named by its type; an envelope of it is the job's data. */
  readonly event: IncomingEvent;
  /** Milliseconds after which it may begin. */
  readonly delayMs: number;
}

export interface AddOptions {
  /** True to compare the state and the body hash of a job that the queue had before. */
  readonly exact: boolean;
  /** True when the ledger has the bodies and headers, so that the jobs need none. */
  readonly identityOnly: boolean;
  readonly onSent?: (() => void) | undefined;
}

/** A job as the queue has it, without its data. */
export interface JobSnapshot {
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

/** Finds out whether replicas have what a call of `enqueue` wrote. */
export interface ReplicaWait {
  onSent(): void;
  /** Resolves with true if a replica had all writes in time. Never rejects. */
  confirmed(): Promise<boolean>;
}

/** A server that has queues: they answer together, or none of them does. */
export interface QueueServer {
  /** The reason why no command can be sent now; undefined when one can. */
  unready(): string | undefined;
  ping(): Promise<void>;
}

/** The differences between Redis and Postgres. Everything else of this package is written once. */
export interface Backend {
  readonly name: "redis" | "postgres";
  /** Sign the jobs. Undefined where jobs are taken at their word: on Postgres, or without a key. */
  readonly keys: QueueKeys | undefined;
  serverOf(queue: Queue): QueueServer;
  createQueue(name: string): Queue;
  createWorker(
    name: string,
    processor: Processor,
    options: Omit<WorkerOptions, "connection">,
  ): Worker;
  /**
   * Adds jobs to one queue and answers for each. Of several with one id and different bodies, the
   * first is kept. Throws when it cannot say which of them failed; some may have been added.
   */
  add(queue: Queue, jobs: readonly NewJob[], options: AddOptions): Promise<readonly StoreResult[]>;
  /** Follows a call of `enqueue`, where a replica must have its writes. */
  readonly waitForReplicas?: (() => ReplicaWait) | undefined;
  /** The reason why the server may lose an event. The first call starts to look. */
  risk?(): QueueRisk | undefined;
  /** True for the fault of one job: the other jobs are worth a try without it. */
  isPoison(error: unknown): boolean;
  /** Forgets how often a job lost its worker, so that a retry gets the whole allowance again. */
  forgetStalls(queue: Queue, jobId: string): Promise<void>;
  /** Takes a job that runs again out of the completed ones of its minute. Does not wait. */
  uncountCompleted(queue: Queue, finishedAtMs: number): void;
  /** The queue's jobs of these ids, in one round trip: one answer an id. */
  snapshots(queue: Queue, ids: readonly string[]): Promise<readonly (JobSnapshot | undefined)[]>;
  /** Jobs that have ended, oldest end first. */
  finished(queue: Queue, query: FinishedQuery): Promise<readonly FinishedSnapshot[]>;
  /** The epoch in each queue, with whatever else identifies its server. */
  epochs(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(queue: Queue, epoch: string): Promise<void>;
  /** The mark of `writeLedgerMark` in each queue; none in the ledger's own server. */
  ledgerMarks(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string>>;
  writeLedgerMark(queue: Queue, mark: string): Promise<void>;
  /** Counts jobs that completed since a time and before the oldest one that the queue still has. */
  forgotten(queue: Queue, sinceMs: number): Promise<Forgotten>;
  /** A queue that cannot be counted is left out; when none can, it throws. */
  counts(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, JobCounts>>;
  /** Measures servers and queues in one round trip; leaves out a queue that cannot be measured. */
  pressure(queues: ReadonlyMap<string, Queue>): Promise<PressureReading>;
  /** Cuts every connection, the workers' too. Bounded, also when the server is dead. */
  close(): Promise<void>;
}

/** The questions to a backend for which BullMQ has no method. */
export type QueueQueries = Pick<
  Backend,
  | "snapshots"
  | "finished"
  | "forgetStalls"
  | "uncountCompleted"
  | "counts"
  | "pressure"
  | "epochs"
  | "writeEpoch"
  | "ledgerMarks"
  | "writeLedgerMark"
  | "forgotten"
>;

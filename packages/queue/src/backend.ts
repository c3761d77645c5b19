import type { Envelope, Placement } from "@millrace/core";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { PressureReading } from "./pressure.ts";
import type { EndedFrom, JobCounts } from "./queues.ts";

/** A job on its way into a queue. */
export interface NewJob {
  readonly id: string;
  readonly name: string;
  readonly data: Envelope;
}

export interface AddOptions {
  /** Whether the caller wants to know more of a job that the queue had before than that. */
  readonly exact: boolean;
}

/** What is seen of a job without its data. */
export interface SeenJob {
  /** Undefined while it has not ended. */
  readonly state: "failed" | "completed" | undefined;
  readonly addedAtMs: number;
  /** Zero while it has not ended. */
  readonly finishedAtMs: number;
  readonly attemptsMade: number;
  readonly failedReason: string | undefined;
}

/** A job that has ended, and its data but for headers and body, as JSON. */
export interface SeenEnd extends SeenJob {
  readonly id: string;
  readonly data: string;
}

/** Which of the jobs that have ended. */
export interface EndedQuery {
  readonly state: "failed" | "completed";
  readonly from: EndedFrom;
  readonly limit: number;
}

/** What Redis and Postgres do differently. Everything else of this package is written once. */
export interface Backend {
  readonly name: "redis" | "postgres";
  /** Why nothing can be asked of it just now, in words; undefined when it can. */
  unready(): string | undefined;
  /** A producer's queue: it fails fast. */
  createQueue(name: string): Queue;
  createWorker(
    name: string,
    processor: Processor,
    options: Omit<WorkerOptions, "connection">,
  ): Worker;
  /**
   * Adds jobs to one queue and answers for each. Of several with one id, which have different
   * bodies, the first is kept. Throws when any of them failed and it cannot say which, and some may
   * have been added then.
   */
  add(queue: Queue, jobs: readonly NewJob[], options: AddOptions): Promise<readonly Placement[]>;
  /** Whether an error is the fault of one job, so that the others are worth a try without it. */
  isPoison(error: unknown): boolean;
  /** Forgets how often a job lost its worker, so that a retry gets the whole allowance again. */
  forgetStalls(queue: Queue, jobId: string): Promise<void>;
  /** What the queue has of jobs, in one round trip: one answer an id. */
  look(queue: Queue, ids: readonly string[]): Promise<readonly (SeenJob | undefined)[]>;
  /** Jobs that have ended, in the order of their ends. */
  ended(queue: Queue, query: EndedQuery): Promise<readonly SeenEnd[]>;
  /** What was left in each queue to know it by, with what else tells that it is the same. */
  epochs(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(queue: Queue, epoch: string): Promise<void>;
  counts(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, JobCounts>>;
  /** When the job was added that is next to be taken, milliseconds since the epoch. */
  nextAddedAtMs(queue: Queue): Promise<number | undefined>;
  /** How full the server and the queues are, in one round trip. */
  pressure(queues: ReadonlyMap<string, Queue>): Promise<PressureReading>;
  /** Resolves when the server has answered. */
  ping(): Promise<void>;
  /** Cuts every connection, the workers' too. Bounded, also when the server is dead. */
  close(): Promise<void>;
}

import type { IncomingEvent, QueueKeys, StoreResult } from "@millrace/core";
import type { Processor, Queue, Worker, WorkerOptions } from "bullmq";
import type { JobOwner, OwnerClaim, QueueMark, TakenMark } from "./queue-owner.ts";
import type { PressureReading } from "./pressure.ts";
import type {
  FinishedFrom,
  Forgotten,
  JobCounts,
  JobEnd,
  JobStatus,
  QueueRisk,
  WaitingQuery,
} from "./queues.ts";

export interface NewJob {
  readonly id: string;
  readonly event: IncomingEvent;
  readonly delayMs: number;
}

export interface AddOptions {
  readonly exact: boolean;
  /** True when the ledger has the bodies and headers, so that the jobs need none. */
  readonly identityOnly: boolean;
  readonly onSent?: (() => void) | undefined;
}

export interface FinishedSnapshot extends JobEnd {
  readonly id: string;
  readonly data: string;
}

export interface WaitingSnapshots {
  readonly count: number;
  readonly jobs: readonly {
    readonly id: string;
    readonly state: "waiting" | "delayed";
    readonly addedAtMs: number;
    readonly data: string;
  }[];
}

export interface ReplicaWait {
  onSent(): void;
  confirmed(): Promise<boolean>;
}

/** The differences between Redis and Postgres. Everything else of this package is written once. */
export interface Backend {
  readonly name: "redis" | "postgres";
  /** Sign the jobs. Undefined where jobs are taken at their word: on Postgres, or without a key. */
  readonly keys: QueueKeys | undefined;
  /** The ledger that jobs are for. Empty on Postgres, where both are in one database. */
  readonly owner: JobOwner;
  /** The state of a server that is known to be away. All queues answer, or none of them. */
  unready(): string | undefined;
  ping(): Promise<void>;
  createQueue(name: string): Queue;
  createWorker(
    name: string,
    processor: Processor,
    options: Omit<WorkerOptions, "connection">,
  ): Worker;
  /**
   * Answers for each job. Of several with one id and different bodies, the first is kept. Throws
   * when it cannot say which of them failed; some may have been added.
   */
  add(queue: Queue, jobs: readonly NewJob[], options: AddOptions): Promise<readonly StoreResult[]>;
  readonly waitForReplicas?: (() => ReplicaWait) | undefined;
  risk?(): QueueRisk | undefined;
  /** True for the fault of one job: the other jobs are worth a try without it. */
  isPoison(error: unknown): boolean;
  /** Forgets how often a job lost its worker, so that a retry gets the whole allowance again. */
  forgetStalls(queue: Queue, jobId: string): Promise<void>;
  /** Undefined on Redis, where BullMQ's own is one step. Fails with BullMQ's codes. */
  promote?(queue: Queue, jobId: string): Promise<void>;
  /** Takes back a job that Millrace removes. Undefined on Postgres. */
  uncountAdded?(queue: Queue): Promise<void>;
  /** Takes back the completion of a job that runs again. Undefined on Postgres. */
  uncountCompleted?(queue: Queue, finishedAtMs: number): void;
  statuses(queue: Queue, ids: readonly string[]): Promise<readonly (JobStatus | undefined)[]>;
  /** Undefined on Postgres, where the ledger has each event before its job. */
  waiting?(queue: Queue, query: WaitingQuery): Promise<WaitingSnapshots>;
  finished(
    queue: Queue,
    query: { state: "failed" | "completed"; from: FinishedFrom; limit: number },
  ): Promise<readonly FinishedSnapshot[]>;
  epochs(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string | undefined>>;
  writeEpoch(queue: Queue, epoch: string): Promise<void>;
  ledgerMarks(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, string>>;
  writeLedgerMark(queue: Queue, mark: string): Promise<void>;
  forgotten(queue: Queue, sinceMs: number): Promise<Forgotten>;
  /** Both are undefined on Postgres, whose queues no other ledger can have. */
  readMark?(queue: Queue): Promise<QueueMark | undefined>;
  takeMark?(queue: Queue, claim: OwnerClaim): Promise<TakenMark>;
  counts(queues: ReadonlyMap<string, Queue>): Promise<ReadonlyMap<string, JobCounts>>;
  pressure(queues: ReadonlyMap<string, Queue>): Promise<PressureReading>;
  close(): Promise<void>;
}

import type { Activity, ACTIVITY_RANGES, Health, SourceStats } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import type { Diagnosis } from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import type { ActivityOf } from "./activity-reader.ts";

/** The part of the ledger that the dashboard uses. */
export type DashboardLedger = Pick<
  Ledger,
  "reads" | "retries" | "repair" | "audit" | "bulkRuns" | "errors" | "sessions"
>;

/** The part of the queues that the dashboard uses. */
export type DashboardQueues = Pick<
  Queues,
  | "backend"
  | "queues"
  | "ping"
  | "findJob"
  | "retryJob"
  | "rerunJob"
  | "removeJob"
  | "enqueue"
  | "pause"
  | "resume"
  | "counts"
  | "measurePressure"
  | "jobStatuses"
  | "finishedJobs"
  | "forgotten"
  | "ledgerMarks"
>;

/** Every source in numbers, counted a moment ago. */
export type ReadStats = () => Promise<ReadonlyMap<string, SourceStats>>;

/** Disagreements of ledger and queues, from a recent comparison. */
export interface Comparison {
  readonly checkedAt: Date;
  readonly diagnosis: Diagnosis;
}

/** A stretch of time, of a source, of a type, or of all. */
export interface ActivityQuery extends ActivityOf {
  readonly range: keyof typeof ACTIVITY_RANGES;
}

/** Expensive reads, whose results all callers share for a while. */
export interface Overviews {
  readonly stats: ReadStats;
  readonly activity: (query: ActivityQuery) => Promise<Activity>;
  readonly comparison: () => Promise<Comparison>;
  /** Answers within its time, whatever is down. */
  readonly health: () => Promise<Health>;
}

import type { Activity, ACTIVITY_RANGES, Health, SourceStats } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import type { Diagnosis } from "@millrace/operations";
import type { Queues } from "@millrace/queue";
import type { ActivityOf } from "./activity-reader.ts";

/** What the dashboard needs of the ledger. */
export type DashboardLedger = Pick<
  Ledger,
  "reads" | "retries" | "repair" | "audit" | "bulkRuns" | "errors" | "sessions"
>;

/** What the dashboard needs of the queues. */
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

/** What ledger and queues disagree on, compared a moment ago. */
export interface Comparison {
  readonly checkedAt: Date;
  readonly diagnosis: Diagnosis;
}

/** A stretch of time, of a source, of a type, or of all. */
export interface ActivityQuery extends ActivityOf {
  readonly range: keyof typeof ACTIVITY_RANGES;
}

/** What costs more than a page, and is therefore shared for a while by all who ask. */
export interface Overviews {
  readonly stats: ReadStats;
  readonly activity: (query: ActivityQuery) => Promise<Activity>;
  readonly comparison: () => Promise<Comparison>;
  /** Answers within its time, whatever is down. */
  readonly health: () => Promise<Health>;
}

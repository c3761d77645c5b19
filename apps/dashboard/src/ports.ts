import type { ActivityBucket, SourceStats } from "@millrace/api-contract";
import type { Ledger } from "@millrace/ledger";
import type { Diagnosis } from "@millrace/operations";
import type { Queues } from "@millrace/queue";

/** What the dashboard needs of the ledger. */
export type DashboardLedger = Pick<Ledger, "reads" | "retries" | "repair" | "audit">;

/** What the dashboard needs of the queues. */
export type DashboardQueues = Pick<
  Queues,
  | "backend"
  | "queues"
  | "ping"
  | "findJob"
  | "retryJob"
  | "rerunJob"
  | "enqueue"
  | "pause"
  | "resume"
  | "counts"
  | "jobStatuses"
  | "finishedJobs"
>;

/** Every source in numbers, counted a moment ago. */
export type ReadStats = () => Promise<ReadonlyMap<string, SourceStats>>;

/** What ledger and queues disagree on, compared a moment ago. */
export interface Comparison {
  readonly checkedAt: Date;
  readonly diagnosis: Diagnosis;
}

/** What costs more than a page, and is therefore shared for a while by all who ask. */
export interface Overviews {
  readonly stats: ReadStats;
  /** The last hour, of one source or of all. */
  readonly activity: (source?: string) => Promise<readonly ActivityBucket[]>;
  readonly comparison: () => Promise<Comparison>;
}

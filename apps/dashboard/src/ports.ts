import type { ActivityRow, Ledger } from "@millrace/ledger";
import type { Diagnosis, SourceStats } from "@millrace/operations";
import type { Queues } from "@millrace/queue";

/** What the dashboard needs of the ledger. */
export type DashboardLedger = Pick<
  Ledger,
  | "findEvents"
  | "findEvent"
  | "retryMany"
  | "replay"
  | "markEnqueued"
  | "countUndone"
  | "countCompleted"
  | "activity"
  | "pendingPage"
  | "standings"
  | "beginAudit"
  | "endAudit"
  | "findAudit"
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
  | "enqueue"
  | "pause"
  | "resume"
  | "counts"
  | "glance"
  | "endedJobs"
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
  readonly activity: (source?: string) => Promise<readonly ActivityRow[]>;
  readonly comparison: () => Promise<Comparison>;
}

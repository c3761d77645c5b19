import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

export type DashboardLedger = Pick<
  Ledger,
  "reads" | "retries" | "repair" | "audit" | "bulkRuns" | "errors" | "sessions"
>;

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

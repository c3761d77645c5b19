import type { Ledger } from "@millrace/ledger";
import type { SourceStats } from "@millrace/operations";
import type { Queues } from "@millrace/queue";

/** What the dashboard needs of the ledger. */
export type DashboardLedger = Pick<
  Ledger,
  "findEvents" | "findEvent" | "retryMany" | "replay" | "markEnqueued" | "countsBySourceAndStatus"
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
>;

/** Every source in numbers, counted a moment ago. */
export type ReadStats = () => Promise<ReadonlyMap<string, SourceStats>>;

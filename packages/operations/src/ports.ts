import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

/** What putting the jobs of pending events on their queues needs of a queue. */
export type JobQueues = Pick<Queues, "retryJob" | "rerunJob" | "findJob" | "enqueue">;

/** What a retry or a replay needs of the queue. */
export type RunAgainQueues = JobQueues & Pick<Queues, "queues" | "ping">;

/** What a retry needs of the ledger. */
export type RetryLedger = Pick<Ledger, "findEvent" | "retryMany" | "markEnqueued">;

/** What a replay needs of the ledger. */
export type ReplayLedger = Pick<Ledger, "replay" | "markEnqueued">;

/** What finding the events of a filter needs of the ledger. */
export type SearchLedger = Pick<Ledger, "findEvents">;

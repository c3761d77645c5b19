import type { EnvelopedEvent } from "@millrace/core";
import type { Ledger } from "@millrace/ledger";
import type { Queues } from "@millrace/queue";

/** What comparing ledger and queues needs of them. It writes to neither. */
export interface CompareDeps {
  readonly ledger: Pick<Ledger, "pendingPage" | "standings">;
  readonly queues: Pick<Queues, "queues" | "glance" | "endedJobs" | "findJob">;
  /** Whether what a job says can be recorded: a person may have edited it, or made it up. */
  readonly isSound: (event: EnvelopedEvent) => boolean;
}

/** What making them agree needs besides. */
export interface MendDeps extends CompareDeps {
  readonly ledger: CompareDeps["ledger"] &
    Pick<Ledger, "markEnqueued" | "unmarkEnqueued" | "giveUp" | "readEpochs" | "writeEpochs">;
  readonly queues: CompareDeps["queues"] &
    Pick<
      Queues,
      "enqueue" | "retryJob" | "rerunJob" | "measurePressure" | "epochs" | "writeEpoch" | "ping"
    >;
}

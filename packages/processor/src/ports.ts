import type {
  AttemptFailure,
  AttemptLimits,
  Claim,
  EventKey,
  HandlerTransaction,
  LockedEvent,
  Outcome,
  QueuedEvent,
} from "@millrace/core";

/** What the processor needs of the ledger. */
export interface ClaimPort {
  /** Records jobs in one short commit of its own: one claim a job, in order. */
  record(jobs: readonly QueuedEvent[]): Promise<readonly Claim[]>;
  /**
   * Runs `work` in a transaction that holds the event's row, and settles it `completed` with the
   * outcome that `work` returns, in that same transaction. What `work` throws undoes all of it and
   * is thrown on. `lost` when the row is not pending, or its attempts are not ours any longer.
   */
  attempt(
    key: EventKey,
    attempt: number,
    work: (tx: HandlerTransaction, event: LockedEvent) => Promise<Outcome>,
    limits: AttemptLimits,
  ): Promise<"completed" | "lost">;
  /** Records a failed attempt, guarded by `status = 'pending' and attempts = attempt`. */
  fail(key: EventKey, attempt: number, failure: AttemptFailure): Promise<"recorded" | "lost">;
}

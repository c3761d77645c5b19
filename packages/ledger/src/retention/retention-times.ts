import { INDEXED_ONLY, type TransactionOptions } from "../connection/transaction.ts";

/** For batches, which find their rows by an index and hold them no longer than necessary. */
export const BATCH: TransactionOptions = {
  limits: {
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 2_000,
    idleTimeoutMs: 60_000,
    planning: INDEXED_ONLY,
  },
  deadlineMs: 65_000,
};

/** For counts, which read a whole day of events. */
export const COUNT: TransactionOptions = {
  limits: { ...BATCH.limits, statementTimeoutMs: 600_000 },
  deadlineMs: 610_000,
};

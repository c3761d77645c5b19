import type { TransactionOptions } from "../transaction.ts";

/** For batches: each finds what it wants by an index, and holds rows no longer than it must. */
export const BATCH: TransactionOptions = {
  limits: {
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 2_000,
    idleTimeoutMs: 60_000,
    indexedOnly: true,
  },
  deadlineMs: 65_000,
};

/** For counts, which read a whole day of events. */
export const COUNT: TransactionOptions = {
  limits: { ...BATCH.limits, statementTimeoutMs: 600_000 },
  deadlineMs: 610_000,
};

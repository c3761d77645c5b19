import { INDEXED_ONLY, type TransactionOptions } from "../connection/transaction.ts";

export const BATCH: TransactionOptions = {
  limits: {
    statementTimeoutMs: 60_000,
    lockTimeoutMs: 2_000,
    idleTimeoutMs: 60_000,
    planning: INDEXED_ONLY,
  },
  deadlineMs: 65_000,
};

export const COUNT: TransactionOptions = {
  limits: { ...BATCH.limits, statementTimeoutMs: 600_000 },
  deadlineMs: 610_000,
};

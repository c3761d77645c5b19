import type pg from "pg";
import type { TransactionOptions } from "./transaction.ts";

/** What the ledger's operations share. */
export interface LedgerContext {
  readonly pool: pg.Pool;
  /** For the ledger's own short transactions, which find every row by an index. */
  readonly short: TransactionOptions;
  /** For reads, whose plans are the planner's. */
  readonly reads: TransactionOptions;
  /** Days that a completed event is known; a job of an unknown event that is older is not recorded. */
  readonly keysDays: number;
  /** Milliseconds that a handler's transaction waits for a row that another one holds. */
  readonly lockTimeoutMs: number;
  /** Milliseconds that Postgres lets a handler's transaction sit idle. */
  readonly idleInTransactionTimeoutMs: number;
}

import type pg from "pg";
import { SQLSTATE } from "../connection/sqlstate.ts";
import { runStatement } from "../connection/transaction.ts";

const PARTITION_DAYS_AHEAD = 14;

const PARTITION_TIMES = { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, deadlineMs: 12_000 };

/** Creates the partitions of today and the days ahead; returns how many were missing. */
export async function ensurePartitions(
  pool: pg.Pool,
  daysAhead: number = PARTITION_DAYS_AHEAD,
): Promise<number> {
  const query = { text: "SELECT millrace.ensure_partitions($1) AS made", values: [daysAhead] };
  const { rows } = await runStatement<{ made: number }>(pool, query, PARTITION_TIMES);
  return rows[0]?.made ?? 0;
}

export async function withPartitions<T>(pool: pg.Pool, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
    await ensurePartitions(pool);
    return await insert();
  }
}

// Postgres has no SQLSTATE of its own for it; other check violations name their constraint.
function isMissingPartition(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || !("table" in error)) return false;
  const isNamed = "constraint" in error && error.constraint !== undefined;
  return error.code === SQLSTATE.checkViolation && error.table === "bodies" && !isNamed;
}

/** LIMIT 1, because an EXISTS may be answered from a hash of every body. */
export const BODY_KEPT = (event: string) => `(
    SELECT true FROM millrace.bodies b WHERE b.day = ${event}.body_day AND b.id = ${event}.body_id LIMIT 1
  ) IS TRUE`;

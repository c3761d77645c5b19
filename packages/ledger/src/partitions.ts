import type pg from "pg";
import { SQLSTATE } from "./sqlstate.ts";
import { runStatement } from "./transaction.ts";

/** Days ahead for which partitions of bodies are made. */
export const PARTITION_DAYS_AHEAD = 14;

const OPTIONS = {
  limits: { statementTimeoutMs: 10_000, lockTimeoutMs: 5_000, idleTimeoutMs: 10_000 },
  deadlineMs: 12_000,
};

/** Makes the partitions of today and the days ahead; says how many were missing. */
export async function ensurePartitions(
  pool: pg.Pool,
  daysAhead: number = PARTITION_DAYS_AHEAD,
): Promise<number> {
  const query = { text: "SELECT millrace.ensure_partitions($1) AS made", values: [daysAhead] };
  const { rows } = await runStatement<{ made: number }>(pool, query, OPTIONS);
  return rows[0]?.made ?? 0;
}

/** Runs an insert of bodies; when it finds no partition for today, makes it and runs it again. */
export async function withPartitions<T>(pool: pg.Pool, insert: () => Promise<T>): Promise<T> {
  try {
    return await insert();
  } catch (error) {
    if (!isMissingPartition(error)) throw error;
    await ensurePartitions(pool);
    return await insert();
  }
}

// Postgres has no SQLSTATE of its own for it, and its message is translated. A check constraint's
// violation names the constraint; this one cannot.
function isMissingPartition(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error) || !("table" in error)) return false;
  const isNamed = "constraint" in error && error.constraint !== undefined;
  return error.code === SQLSTATE.checkViolation && error.table === "bodies" && !isNamed;
}

import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";
import { COUNT } from "./retention-times.ts";

/**
 * Groups of errors that were last seen more than $1 days ago and that no event has as its last error. A failure that
 * comes back in this moment begins its group again.
 */
const DELETE_ERRORS = `
WITH old AS MATERIALIZED (
  SELECT fingerprint FROM millrace.error_counts
  GROUP BY fingerprint HAVING max(last_seen_at) < now() - make_interval(days => $1::int)
),
unused AS MATERIALIZED (
  SELECT fingerprint FROM old
  WHERE NOT EXISTS (SELECT FROM millrace.events e WHERE e.fingerprint = old.fingerprint)
),
counts AS (
  DELETE FROM millrace.error_counts c USING unused
  WHERE c.fingerprint = unused.fingerprint
)
DELETE FROM millrace.errors e USING unused WHERE e.fingerprint = unused.fingerprint`;

/** Deletes groups of errors that nothing is left of. Returns how many. */
export async function deleteErrors(pool: pg.Pool, keysDays: number): Promise<number> {
  const query = { text: DELETE_ERRORS, values: [keysDays] };
  const { rowCount } = await runStatement(pool, query, COUNT);
  return rowCount ?? 0;
}

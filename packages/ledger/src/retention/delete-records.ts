import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";
import { BATCH, COUNT } from "./retention-times.ts";

/** A failure that comes back in this moment begins its group again. */
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

export async function deleteErrors(pool: pg.Pool, keysDays: number): Promise<number> {
  const query = { text: DELETE_ERRORS, values: [keysDays] };
  const { rowCount } = await runStatement(pool, query, COUNT);
  return rowCount ?? 0;
}

const EXPIRED_RUNS = `
  SELECT id FROM millrace.bulk_runs
  WHERE finished_at < now() - make_interval(days => least($1::int, 30))`;

const DELETE_MEMBERS = `
WITH deleted AS (
  DELETE FROM millrace.bulk_members WHERE ctid = ANY (ARRAY(
    SELECT m.ctid FROM (${EXPIRED_RUNS}) AS r
    JOIN millrace.bulk_members m ON m.run_id = r.id LIMIT 10000
  ))
  RETURNING 1
)
SELECT count(*)::int AS deleted FROM deleted`;

const DELETE_RUNS = `DELETE FROM millrace.bulk_runs WHERE id IN (${EXPIRED_RUNS})`;

/** Deletes a batch of members of old runs, and with the last of them the runs; then false. */
export async function deleteRuns(pool: pg.Pool, keysDays: number): Promise<boolean> {
  const members = { text: DELETE_MEMBERS, values: [keysDays] };
  const { rows } = await runStatement<{ deleted: number }>(pool, members, BATCH);
  if ((rows[0]?.deleted ?? 0) > 0) return true;
  await runStatement(pool, { text: DELETE_RUNS, values: [keysDays] }, BATCH);
  return false;
}

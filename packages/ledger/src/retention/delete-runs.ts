import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";
import { BATCH } from "./retention-times.ts";

const EXPIRED = `
  SELECT id FROM millrace.bulk_runs
  WHERE finished_at < now() - make_interval(days => least($1::int, 30))`;

const DELETE_MEMBERS = `
WITH deleted AS (
  DELETE FROM millrace.bulk_members WHERE ctid = ANY (ARRAY(
    SELECT m.ctid FROM (${EXPIRED}) AS r
    JOIN millrace.bulk_members m ON m.run_id = r.id LIMIT 10000
  ))
  RETURNING 1
)
SELECT count(*)::int AS deleted FROM deleted`;

const DELETE_RUNS = `DELETE FROM millrace.bulk_runs WHERE id IN (${EXPIRED})`;

/**
 * Deletes a batch of members of the bulk runs that ended more than `keysDays` days ago, or 30 if that is less, and
 * with the last of them the runs. Gives false when nothing is left.
 *
 * @throws `database_unavailable`
 */
export async function deleteRuns(pool: pg.Pool, keysDays: number): Promise<boolean> {
  const members = { text: DELETE_MEMBERS, values: [keysDays] };
  const { rows } = await runStatement<{ deleted: number }>(pool, members, BATCH);
  if ((rows[0]?.deleted ?? 0) > 0) return true;
  await runStatement(pool, { text: DELETE_RUNS, values: [keysDays] }, BATCH);
  return false;
}

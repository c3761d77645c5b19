import { failpoint } from "@millrace/core";
import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";
import { BATCH, COUNT, OF_DAY, type BodyPartition } from "./body-partitions.ts";

export interface ExpiredKeys {
  /** Days since the event was completed, in its last generation. One day is added. */
  readonly keysDays: number;
  /** The oldest day whose bodies are kept: an event is kept for as long as its body is. */
  readonly bodiesFrom: string;
}

const IDENTITIES_MAX = 1_000;

/** A day more: clocks differ, and a job must be too old before its event is deleted. */
const CUTOFF = "now() - make_interval(days => $1::int + 1)";

/** All generations are older than $1 days, and no partition before $2 has their bodies. */
const EXPIRED = `
  SELECT e.source, e.event_id, e.generation, e.recorded_at FROM millrace.events e
  WHERE e.status = 'completed' AND e.recorded_at < ${CUTOFF} AND e.recorded_at >= $3::timestamptz
    AND e.processed_at < ${CUTOFF} AND e.body_day < $2::date
    AND (
      SELECT true FROM millrace.events other
      WHERE other.source = e.source AND other.event_id = e.event_id
        AND (other.status <> 'completed' OR other.processed_at >= ${CUTOFF}
          OR other.body_day >= $2::date)
      LIMIT 1
    ) IS NOT TRUE`;

/** Deletes a batch of the oldest ($4): all generations of an event together. */
const DELETE_KEYS = `
WITH old AS MATERIALIZED (${EXPIRED}
  ORDER BY e.recorded_at LIMIT $4
),
identity AS MATERIALIZED (SELECT DISTINCT source, event_id FROM old),
deleted AS (
  DELETE FROM millrace.events e USING identity i
  WHERE e.source = i.source AND e.event_id = i.event_id
  RETURNING 1
),
log AS (
  DELETE FROM millrace.attempts a USING identity i
  WHERE a.source = i.source AND a.event_id = i.event_id
),
remembered AS (
  DELETE FROM millrace.steps s USING identity i
  WHERE s.source = i.source AND s.event_id = i.event_id
),
noted AS (
  DELETE FROM millrace.conflicts c USING identity i
  WHERE c.source = i.source AND c.event_id = i.event_id
),
delivered AS (
  DELETE FROM millrace.deliveries d USING identity i
  WHERE d.source = i.source AND d.event_id = i.event_id
)
SELECT (SELECT count(*) FROM deleted) AS deleted,
  (SELECT (max(recorded_at) AT TIME ZONE 'UTC')::text || '+00' FROM old) AS reached`;

export async function deleteKeys(pool: pg.Pool, expired: ExpiredKeys, from = "-infinity") {
  const values = [expired.keysDays, expired.bodiesFrom, from, IDENTITIES_MAX];
  const { rows } = await runStatement<{ deleted: string; reached: string | null }>(
    pool,
    { text: DELETE_KEYS, values },
    BATCH,
  );
  failpoint("retention.keys_deleted");
  return { deleted: Number(rows[0]?.deleted), next: rows[0]?.reached ?? undefined };
}

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

/** Events of the day $1 from $2 on, whose bodies are dropped; an UPDATE for each, so in batches. */
const FORGET_FINDS = (which: keyof typeof OF_DAY) => `
WITH old AS MATERIALIZED (
  SELECT source, event_id, generation, recorded_at FROM millrace.events
  WHERE ${OF_DAY[which]} AND recorded_at >= $2::timestamptz AND find IS NOT NULL
  ORDER BY recorded_at LIMIT 1000
),
forgotten AS (
  UPDATE millrace.events e SET find = NULL FROM old o
  WHERE e.source = o.source AND e.event_id = o.event_id AND e.generation = o.generation
)
SELECT (max(recorded_at) AT TIME ZONE 'UTC')::text || '+00' AS reached FROM old`;

/** Deletes the values by which a day's events are found: they are parts of its bodies. */
export async function forgetFinds(
  pool: pg.Pool,
  { day }: BodyPartition,
  signal: AbortSignal,
): Promise<void> {
  for (const which of Object.keys(OF_DAY) as (keyof typeof OF_DAY)[]) {
    let from: string | undefined = "-infinity";
    while (from !== undefined) {
      signal.throwIfAborted();
      const query: pg.QueryConfig = { text: FORGET_FINDS(which), values: [day, from] };
      const { rows } = await runStatement<{ reached: string | null }>(pool, query, BATCH);
      from = rows[0]?.reached ?? undefined;
    }
  }
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

import { failpoint } from "@millrace/core";
import type pg from "pg";
import { runStatement } from "../connection/transaction.ts";
import { BATCH } from "./body-partitions.ts";

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

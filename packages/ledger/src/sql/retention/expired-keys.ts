/**
 * How much longer than it promises to be known an event is kept: a job's age is judged by the clock
 * of the ingress that took it, an event's by the database's, and a job must be too old before its
 * event is forgotten.
 */
const MARGIN_DAYS = 1;

const CUTOFF = `now() - make_interval(days => $1::int + ${MARGIN_DAYS})`;

/**
 * Completed events of identities all of whose generations were completed before the keys' time ($1,
 * days), and whose bodies were dropped: every partition there is begins later than $2. Recorded at $3
 * or later.
 */
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

/**
 * Deletes a batch of them ($4), the oldest, with their attempts and conflicts, in one commit: whole
 * identities, all generations of one together.
 */
export const DELETE_KEYS = `
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
noted AS (
  DELETE FROM millrace.conflicts c USING identity i
  WHERE c.source = i.source AND c.event_id = i.event_id
)
SELECT (SELECT count(*) FROM deleted) AS deleted,
  (SELECT (max(recorded_at) AT TIME ZONE 'UTC')::text || '+00' FROM old) AS reached`;

/** How many events would be deleted in all. */
export const COUNT_EXPIRED_KEYS = `SELECT count(*) AS count FROM (${EXPIRED}) AS expired`;

/**
 * Locks an attempt's event and reads it. The body is looked for in one day's partition alone: a plan
 * over all of them would lock each, every time. When the event's body lies in another the row comes
 * without it, and `READ_BODY` gets it. The handler's limits ($5 to $7, milliseconds) are set on the
 * way, which costs less than a SET each; they hold before the row is locked. Sequential scans, which
 * were off while this was planned, are on again for the handler.
 */
export const LOCK = (day: string) => `
WITH limits AS MATERIALIZED (
  SELECT set_config('lock_timeout', $5, true), set_config('statement_timeout', $6, true),
    set_config('idle_in_transaction_session_timeout', $7, true),
    set_config('enable_seqscan', 'on', true)
)
SELECT e.body_day::text AS body_day, e.body_id, e.ctid::text AS place,
  pg_current_xact_id()::text AS transaction_id, b.headers, b.body
FROM limits CROSS JOIN millrace.events e
LEFT JOIN millrace.bodies b ON b.day = DATE '${day}' AND b.id = e.body_id AND e.body_day = b.day
WHERE e.source = $1 AND e.event_id = $2 AND e.generation = $3
  AND e.status = 'pending' AND e.attempts = $4
FOR UPDATE OF e`;

export const READ_BODY = `SELECT headers, body FROM millrace.bodies WHERE day = $1::date AND id = $2`;

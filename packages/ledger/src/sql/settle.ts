/**
 * Completes an attempt's event, in the transaction that locked it ($6) and in no other. The row is
 * found where it was locked ($7): nothing can have moved it since. It raises
 * instead of writing nothing, so that the COMMIT which is sent right behind it cannot keep a
 * handler's writes without the event being completed.
 */
export const SETTLE = `
WITH settled AS (
  UPDATE millrace.events
  SET status = 'completed', outcome = $5, processed_at = clock_timestamp()
  WHERE ctid = $7::tid
    AND source = $1 AND event_id = $2 AND generation = $3
    AND status = 'pending' AND attempts = $4
    AND pg_current_xact_id() = $6::xid8
  RETURNING true AS done
)
SELECT CASE
  WHEN EXISTS (SELECT FROM settled) THEN true
  ELSE millrace.refuse('Cannot complete the event outside the transaction that holds it')
END AS settled`;

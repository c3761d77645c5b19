/** Writes down what somebody is about to do. */
export const BEGIN_AUDIT = `
INSERT INTO millrace.audit
  (actor, role, via, action, source, event_id, generation, filter, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
RETURNING id::text AS id`;

/** Adds what became of it. */
export const END_AUDIT = `
UPDATE millrace.audit SET result = $2, finished_at = clock_timestamp() WHERE id = $1`;

/** A page, newest first; what is null does not matter. */
export const FIND_AUDIT = `
SELECT id::text AS id, at, actor, role, via, action, source, event_id, generation, filter, reason,
  result
FROM millrace.audit
WHERE ($1::text IS NULL OR source = $1)
  AND ($2::text IS NULL OR event_id = $2)
  AND ($3::bigint IS NULL OR id < $3)
ORDER BY audit.id DESC
LIMIT $4`;

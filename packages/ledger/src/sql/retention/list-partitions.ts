/**
 * The partitions of bodies, oldest first, with their age in days of the database. One that is taken
 * off its table or about to be is among them, until it is dropped.
 */
export const LIST_PARTITIONS = `
WITH found AS (
  SELECT c.oid, c.relname::text AS name, to_date(substr(c.relname, 8), 'YYYYMMDD') AS day,
    CASE
      WHEN i.inhparent IS NULL THEN 'detached'
      WHEN i.inhdetachpending THEN 'detaching'
      ELSE 'attached'
    END AS state
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_inherits i
    ON i.inhrelid = c.oid AND i.inhparent = 'millrace.bodies'::regclass
  WHERE c.relnamespace = 'millrace'::regnamespace AND c.relkind = 'r'
    AND c.relname ~ '^bodies_[0-9]{8}$'
)
SELECT name, day::text AS day, state, (now() AT TIME ZONE 'UTC')::date - day AS age_days,
  pg_catalog.pg_total_relation_size(oid)::float8 AS bytes
FROM found ORDER BY day`;

-- Which ledger this is. Its id is in the mark of each queue on Redis and in each job there, so that
-- two environments on one Redis do not run each other's events.
CREATE TABLE millrace.identity (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- The database that the workers of this ledger ran on. A copy of the database has another one, and
  -- its workers start after `millrace restored` or `millrace adopt`. Null before the first worker.
  system_id text,
  database_oid oid,
  -- Since when a worker had a key of jobs. From then on, no worker runs jobs without one.
  signed_since timestamptz,
  -- One row.
  single boolean PRIMARY KEY DEFAULT true CHECK (single)
);
INSERT INTO millrace.identity DEFAULT VALUES;

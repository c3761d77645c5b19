-- Until when a worker runs jobs without a MAC, whose event the ledger does not know: those of a build that
-- signed none. One row, written by the first worker that has a key.
CREATE TABLE millrace.job_signing (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  unsigned_until timestamptz NOT NULL
);

-- Migrations share a transaction, and its time. Where the first of them is being applied too, no build before this
-- one has used the database, and no such job is waited for.
INSERT INTO millrace.job_signing (unsigned_until)
SELECT now() FROM millrace.migrations
WHERE scope = 'millrace' AND number = 1 AND applied_at = now();

-- A run that tries a few events first, and a run that stops itself when too many fail again.
ALTER TABLE millrace.bulk_runs
  -- Events that run before the others, of different types and ages.
  ADD COLUMN canary integer CHECK (canary > 0),
  -- The others wait while it is 'due' or 'running'.
  ADD COLUMN canary_state text COLLATE "C" CHECK (canary_state IN ('due', 'running', 'passed')),
  -- The share of events that may fail again before the run stops.
  ADD COLUMN failed_share_max double precision CHECK (failed_share_max BETWEEN 0 AND 1);

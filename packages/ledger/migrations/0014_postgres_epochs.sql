-- How a Postgres that was restored or failed over is found: the reconciler counts its passes here first and then in
-- each queue. A queue that knows of a later pass than this table was not restored with it.

ALTER TABLE millrace.queue_epochs
  ADD COLUMN pass bigint NOT NULL DEFAULT 0,
  -- When the last pass was counted: completions since then are not in a Postgres that was restored.
  ADD COLUMN passed_at timestamptz,
  -- The last time that this Postgres was not the one that the queue knew, and what the queue had forgotten by then.
  ADD COLUMN change jsonb;

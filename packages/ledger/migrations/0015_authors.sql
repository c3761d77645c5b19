-- For the authors of handlers: steps that are not run again, events that handlers emit, and attempts that wait.

ALTER TABLE millrace.events
  -- When the next attempt is due; null for at once, while one runs, and when the event has settled. A retry after a
  -- failure, a handler that asked to wait, and an event that was emitted with a delay have one. The reconciler gives it
  -- to the jobs that it adds.
  ADD COLUMN next_attempt_at timestamptz,
  -- Attempts in which a handler asked to wait: they use up none of the source's. It never goes back.
  ADD COLUMN waits integer NOT NULL DEFAULT 0,
  -- Of events with one signed message whose ids are not signed: true for the one that makes calls. It is decided before the
  -- calls, in a commit of its own, and stays; null for all events that were not asked.
  ADD COLUMN original boolean,
  -- The event whose handler emitted this one; null for what a sender sent.
  ADD COLUMN parent_source text COLLATE "C",
  ADD COLUMN parent_event_id text COLLATE "C",
  ADD COLUMN parent_generation integer;

-- What an event emitted. Events from outside are not in it.
CREATE INDEX events_emitted ON millrace.events (parent_source, parent_event_id, parent_generation)
  WHERE parent_source IS NOT NULL;

-- The results of steps that have ended (`once`). A row is written while the event is pending and the attempt is its
-- latest, and never changes.
CREATE TABLE millrace.steps (
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  attempt integer NOT NULL,
  -- JSON, as text: jsonb does not hold all that JSON does. Null for undefined.
  result text CHECK (octet_length(result) <= 65536),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, event_id, generation, name)
);

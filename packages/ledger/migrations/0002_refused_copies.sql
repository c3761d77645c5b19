-- Whether an event repeats the signed message of another one is decided where it is recorded.
-- False: it came first, as its type. True: it is a copy, which runs only if a person retries it.
-- Null: the id is signed, the source does not ask, or a person retried the copy.
ALTER TABLE millrace.events ADD COLUMN refused boolean;
ALTER TABLE millrace.events DROP COLUMN original;

-- Of events from before, the first counts, also if it is completed.
ALTER TABLE millrace.events DISABLE TRIGGER refuse_update;
UPDATE millrace.events SET refused = false WHERE ctid IN (
  SELECT DISTINCT ON (source, coalesce(digest, body_hash), type) ctid
  FROM millrace.events
  WHERE unsigned AND generation = 0
  ORDER BY source, coalesce(digest, body_hash), type, recorded_at
);
ALTER TABLE millrace.events ENABLE TRIGGER refuse_update;

-- Those that came first: a copy finds them, however many copies there are.
CREATE UNIQUE INDEX events_first
  ON millrace.events (coalesce(digest, body_hash), source, type)
  WHERE refused = false;

-- Copies that a person has not retried, for the sources that send many.
CREATE INDEX events_refused ON millrace.events (source) WHERE refused;

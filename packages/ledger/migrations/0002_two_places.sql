-- What the reconciler, the second place and the retention need to know.

-- When a job for the event was last known to be on the queue, for the time that it is pending now; null
-- until it is known. Set by whoever enqueues, and by the record of a job, which proves that there is
-- one. So a pass of the reconciler looks only at the rows without it.
ALTER TABLE millrace.events ADD COLUMN enqueued_at timestamptz;

CREATE INDEX events_unplaced ON millrace.events (pending_since)
  WHERE status = 'pending' AND enqueued_at IS NULL;

-- A body that came before under another id, where ids are not signed.
CREATE INDEX events_unsigned_body ON millrace.events (source, body_hash) WHERE unsigned;

-- Deliveries of a known id with another body: the first body is kept, these are remembered.
CREATE TABLE millrace.conflicts (
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  deliveries integer NOT NULL DEFAULT 1,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, event_id, body_hash)
);

-- What the last pass of the reconciler left in the queue to know it by. A queue that does not have it
-- was flushed, restored or replaced, and then every pending event is looked into.
CREATE TABLE millrace.queue_epochs (
  queue text COLLATE "C" PRIMARY KEY,
  epoch text COLLATE "C" NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Errors as things: equal failures are one group, by the fingerprint that the worker makes of each.

ALTER TABLE millrace.events
  -- Of last_error; null where the last failure was nobody's error, or is of an earlier build.
  ADD COLUMN fingerprint text COLLATE "C";

ALTER TABLE millrace.attempts
  ADD COLUMN fingerprint text COLLATE "C",
  -- Where it was thrown: files, lines, and functions, without the message.
  ADD COLUMN stack jsonb,
  -- The last lines that the handlers logged, and how many came before those.
  ADD COLUMN log jsonb,
  ADD COLUMN log_dropped integer;

-- The events of a group, newest first. An event that never failed is not in it.
CREATE INDEX events_fingerprint ON millrace.events (fingerprint, status, recorded_at)
  WHERE fingerprint IS NOT NULL;

-- One row a group.
CREATE TABLE millrace.errors (
  fingerprint text COLLATE "C" PRIMARY KEY,
  -- The error's text without what varies.
  title text NOT NULL,
  code text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'resolved', 'ignored')),
  note text,
  -- Who set the state, and when; null while nobody has.
  state_by text,
  state_at timestamptz,
  -- When it came back after it was resolved.
  reopened_at timestamptz
);

-- Failed attempts by group, source, and type. Each row is up to 64, by the connection that writes, so that a handler that
-- fails thousands of times a second does not wait for one row.
CREATE TABLE millrace.error_counts (
  fingerprint text COLLATE "C" NOT NULL,
  source text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  shard smallint NOT NULL,
  attempts bigint NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The event that failed last.
  event_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  PRIMARY KEY (fingerprint, source, type, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.1);

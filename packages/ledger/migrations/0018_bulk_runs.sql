-- Retries and replays of many events. The dashboard and the command write the run; the leading worker works it off in
-- batches, each in one transaction with its members, so that a worker that dies leaves no half of a batch.
CREATE TABLE millrace.bulk_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  verb text COLLATE "C" NOT NULL CHECK (verb IN ('retry', 'replay', 'give_up')),
  filter jsonb NOT NULL,
  -- Events that are recorded later, or fail later, are not part of the run.
  snapshot_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  events_max integer,
  -- Events per second.
  rate double precision NOT NULL DEFAULT 50 CHECK (rate > 0),
  state text COLLATE "C" NOT NULL DEFAULT 'running'
    CHECK (state IN ('running', 'paused', 'stopped', 'finished', 'failed')),
  -- Where the batch before ended. Of two workers that both believe they lead, one finds it changed.
  cursor text,
  -- Events that matched at the start; null when they were too many to count.
  total integer,
  listed integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0,
  -- Events that were left alone, by reason.
  skipped jsonb NOT NULL DEFAULT '{}',
  error text,
  -- What became of its events, kept once none of them is pending. Until then the members are counted.
  results jsonb,
  started_by text,
  role text COLLATE "C" NOT NULL,
  via text COLLATE "C" NOT NULL,
  reason text,
  audit_id bigint,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  taken_at timestamptz,
  finished_at timestamptz,
  CHECK ((finished_at IS NULL) = (state IN ('running', 'paused')))
);

CREATE INDEX bulk_runs_open ON millrace.bulk_runs (id) WHERE finished_at IS NULL;

-- The events that a run has reached, each once.
CREATE TABLE millrace.bulk_members (
  run_id bigint NOT NULL,
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  -- Of a replay: the generation that it made.
  new_generation integer,
  -- Why the event was left alone.
  skipped text COLLATE "C",
  PRIMARY KEY (run_id, source, event_id, generation)
);

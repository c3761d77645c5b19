-- What people look at: the last hour, and who did what.

-- When events ended. An event is in it from its end on, so that recording one costs nothing more.
CREATE INDEX events_processed_at ON millrace.events (processed_at) WHERE processed_at IS NOT NULL;

-- What people and programs told Millrace to do, and what became of it. Written before anything is
-- done; the result after. Rows are kept.
CREATE TABLE millrace.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The database's clock.
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The user, if one is known.
  actor text,
  role text COLLATE "C" NOT NULL,
  via text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  -- Where one event, or one source, was meant.
  source text COLLATE "C",
  event_id text COLLATE "C",
  generation integer,
  -- Where many were.
  filter jsonb,
  reason text,
  -- Null while it is being done, and for good when whoever did it died.
  result jsonb,
  finished_at timestamptz
);

CREATE INDEX audit_event ON millrace.audit (source, event_id, id);

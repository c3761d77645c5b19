-- The ledger: every event and its status, its body apart, and its failed attempts.

-- One narrow row an event and generation. A status change rewrites this row and never a body.
CREATE TABLE millrace.events (
  -- The database's clock: when the ledger first saw the event. Lists are ordered by it.
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- The ingress's clock. Shown, never decided upon.
  received_at timestamptz NOT NULL,
  pending_since timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  -- When it was completed or failed; null while it is pending.
  processed_at timestamptz,
  -- Where the body lies: the partition's day and the row in it.
  body_id bigint NOT NULL,
  body_day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
  generation integer NOT NULL CHECK (generation >= 0),
  -- Every attempt that was counted, which never goes back: it is what fences a stale worker off.
  attempts integer NOT NULL DEFAULT 0,
  -- What attempts stood at when the event was last retried; the difference is what a policy counts.
  attempts_at_retry integer NOT NULL DEFAULT 0,
  unsigned boolean NOT NULL,
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'completed', 'failed')),
  outcome text COLLATE "C",
  body_hash text COLLATE "C" NOT NULL,
  last_error text,
  last_error_code text COLLATE "C",
  -- The queue's run that failed for good: the same run coming again was not retried by anyone.
  failed_run text COLLATE "C",
  PRIMARY KEY (source, event_id, generation),
  CHECK (attempts_at_retry BETWEEN 0 AND attempts),
  CHECK ((status = 'completed') = (outcome IS NOT NULL)),
  CHECK ((status = 'pending') = (processed_at IS NULL)),
  CHECK (status <> 'failed' OR last_error_code IS NOT NULL)
) WITH (
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- Newest first. Events of one commit share the value, which a btree keeps once.
CREATE INDEX events_recorded_at ON millrace.events (recorded_at);
-- What has not settled, or settled badly, is looked for often and is little.
CREATE INDEX events_pending ON millrace.events (pending_since) WHERE status = 'pending';
CREATE INDEX events_failed ON millrace.events (recorded_at) WHERE status = 'failed';

-- The exact bytes that were signed, and the headers that go with them. Never updated. Partitions
-- are a day each, by the database's clock in UTC, so that old bodies are dropped and not deleted.
CREATE SEQUENCE millrace.body_id AS bigint;

CREATE TABLE millrace.bodies (
  day date NOT NULL,
  id bigint NOT NULL,
  headers jsonb NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (day, id)
) PARTITION BY RANGE (day);

-- lz4 packs several times faster than pglz, but not every server was built with it.
DO $$
BEGIN
  ALTER TABLE millrace.bodies ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
  NULL;
END
$$;

-- Asks the catalog itself: to_regclass would answer from a cache that a lock does not freshen.
CREATE FUNCTION millrace.is_table(name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = 'millrace'::regnamespace AND relname = name
  )
$$;

-- Makes the partitions of today and of the days ahead. ATTACH lets inserts and handlers go on,
-- where CREATE TABLE ... PARTITION OF would wait for every open transaction and hold up the rest.
CREATE FUNCTION millrace.ensure_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  first_day date := (now() AT TIME ZONE 'UTC')::date;
  the_day date;
  partition text;
  made integer := 0;
BEGIN
  FOR the_day IN SELECT first_day + n FROM generate_series(0, days_ahead) AS n LOOP
    partition := 'bodies_' || to_char(the_day, 'YYYYMMDD');
    CONTINUE WHEN millrace.is_table(partition);
    PERFORM pg_advisory_xact_lock(hashtextextended('millrace.ensure_partitions', 0));
    CONTINUE WHEN millrace.is_table(partition);
    EXECUTE format('CREATE TABLE millrace.%I (LIKE millrace.bodies INCLUDING ALL)', partition);
    EXECUTE format(
      'ALTER TABLE millrace.bodies ATTACH PARTITION millrace.%I FOR VALUES FROM (%L) TO (%L)',
      partition, the_day, the_day + 1
    );
    made := made + 1;
  END LOOP;
  RETURN made;
END
$$;

-- Attempts that failed, and why.
CREATE TABLE millrace.attempts (
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  attempt integer NOT NULL,
  started_at timestamptz,
  finished_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  code text COLLATE "C" NOT NULL,
  message text NOT NULL,
  counted boolean NOT NULL,
  PRIMARY KEY (source, event_id, generation, attempt)
);

-- The transitions that there are: nothing -> pending; pending -> completed or failed;
-- failed -> pending. Everything else is refused here, whoever asks. The triggers are AFTER triggers
-- with a condition, so a legal change neither locks its row twice nor calls a function.
CREATE FUNCTION millrace.refuse_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = 'Cannot truncate millrace.events';
  ELSIF TG_OP = 'DELETE' THEN
    RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = format(
      'Cannot delete event %s/%s/%s: it is %s', OLD.source, OLD.event_id, OLD.generation, OLD.status);
  ELSIF TG_OP = 'INSERT' THEN
    RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = format(
      'Cannot insert event %s/%s/%s: it is %s, not pending',
      NEW.source, NEW.event_id, NEW.generation, NEW.status);
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = format(
    'Cannot update event %s/%s/%s: %s to %s, attempts %s to %s',
    OLD.source, OLD.event_id, OLD.generation, OLD.status, NEW.status, OLD.attempts, NEW.attempts);
END
$$;

CREATE TRIGGER refuse_insert AFTER INSERT ON millrace.events
  FOR EACH ROW WHEN (NEW.status <> 'pending')
  EXECUTE FUNCTION millrace.refuse_transition();

CREATE TRIGGER refuse_update AFTER UPDATE ON millrace.events
  FOR EACH ROW WHEN (
    OLD.status = 'completed'
    OR (OLD.status = 'failed' AND NEW.status = 'completed')
    OR NEW.attempts < OLD.attempts
    OR NEW.attempts_at_retry < OLD.attempts_at_retry
    OR NEW.source <> OLD.source
    OR NEW.event_id <> OLD.event_id
    OR NEW.generation <> OLD.generation
  )
  EXECUTE FUNCTION millrace.refuse_transition();

CREATE TRIGGER refuse_delete AFTER DELETE ON millrace.events
  FOR EACH ROW WHEN (OLD.status <> 'completed')
  EXECUTE FUNCTION millrace.refuse_transition();

CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON millrace.events
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_transition();

-- Raises from within an expression, so that a statement that wrote nothing fails its transaction.
CREATE FUNCTION millrace.refuse(reason text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'MR002', MESSAGE = reason;
END
$$;

-- A body as jsonb, or null: not every body is JSON, and jsonb does not hold all that is
-- (\u0000, lone surrogates, exponents past numeric).
CREATE FUNCTION millrace.payload(body bytea) RETURNS jsonb LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
  RETURN convert_from(body, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- For people with psql. A body is read and parsed only where payload is asked for.
CREATE VIEW millrace.webhook_events AS
SELECT
  e.source, e.event_id, e.generation, e.type, e.status, e.outcome, e.attempts,
  (SELECT millrace.payload(b.body) FROM millrace.bodies b
    WHERE b.day = e.body_day AND b.id = e.body_id) AS payload,
  e.received_at, e.recorded_at, e.started_at, e.processed_at,
  e.last_error, e.last_error_code, e.unsigned
FROM millrace.events e;

-- The same in public, unless the name is taken there or public is not ours to write.
DO $$
BEGIN
  CREATE VIEW public.webhook_events AS SELECT * FROM millrace.webhook_events;
EXCEPTION
  WHEN duplicate_table OR duplicate_object OR insufficient_privilege OR invalid_schema_name THEN
    NULL;
END
$$;

-- The ledger: events and their statuses, bodies, attempts, and the tables of reconciler and
-- dashboard. Order: tables with their indexes by subject, functions, triggers, views. All times are
-- the database's clock unless a comment names another one.

-- 1. Events

-- One narrow row per event and generation. A status change rewrites this row and never a body.
-- Columns of fixed size come first: that order has the least padding.
CREATE TABLE millrace.events (
  -- When the ledger first saw the event. Lists are ordered by it.
  recorded_at timestamptz NOT NULL DEFAULT now(),
  -- The ingress's clock. Shown to people; no statement decides by it.
  received_at timestamptz NOT NULL,
  pending_since timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  -- When the event completed or failed; null while it is pending.
  processed_at timestamptz,
  -- The body: the day of its partition, and its row there.
  body_id bigint NOT NULL,
  body_day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
  generation integer NOT NULL CHECK (generation >= 0),
  -- Every attempt that counts. It never falls, which fences off a stale worker.
  attempts integer NOT NULL DEFAULT 0,
  -- The attempts at the last retry. A policy counts the difference.
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
  -- The queue's run that failed finally. If the same run is delivered again, nobody has retried the event.
  failed_run text COLLATE "C",
  -- When a job was last known to be on the queue in this pending period; null until it is known. A
  -- pass of the reconciler reads only rows without it.
  enqueued_at timestamptz,
  -- Of an unsigned id: SHA-256 of the signed message where that is not the body. Else body_hash is
  -- it.
  digest text COLLATE "C",
  -- The event's own headers where it shares its body with an earlier event.
  own_headers jsonb,
  -- When the next attempt is due; null for now, during an attempt, and after the end. The
  -- reconciler gives the time to the jobs that it adds.
  next_attempt_at timestamptz,
  -- Attempts in which a handler asked to wait. They use up no attempt of the policy, and never
  -- fall.
  waits integer NOT NULL DEFAULT 0,
  -- Of unsigned ids with one signed message: true for the event that makes calls. It is committed
  -- before the calls and stays; null for events that were not asked.
  original boolean,
  -- The event whose handler emitted this one; null for an event of a sender.
  parent_source text COLLATE "C",
  parent_event_id text COLLATE "C",
  parent_generation integer,
  -- The group of last_error; null without an error.
  fingerprint text COLLATE "C",
  PRIMARY KEY (source, event_id, generation),
  CHECK (attempts_at_retry BETWEEN 0 AND attempts),
  CHECK ((status = 'completed') = (outcome IS NOT NULL)),
  CHECK ((status = 'pending') = (processed_at IS NULL)),
  CHECK (status <> 'failed' OR last_error_code IS NOT NULL)
) WITH (
  -- Room for the update that ends the event on the same page.
  fillfactor = 85,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_analyze_scale_factor = 0.02
);

-- Lists, newest first. Events of one commit share the value, which a btree keeps once.
CREATE INDEX events_recorded_at ON millrace.events (recorded_at);
CREATE INDEX events_failed ON millrace.events (recorded_at) WHERE status = 'failed';

-- Activity of the last hour. A row enters at its end, so recording an event costs no entry.
CREATE INDEX events_processed_at ON millrace.events (processed_at) WHERE processed_at IS NOT NULL;

-- The reconciler reads pending events source by source and page by page, so that a source with a
-- long backlog holds up no other. A row is in these indexes only while it is pending.
CREATE INDEX events_pending ON millrace.events (source, pending_since, event_id, generation)
  WHERE status = 'pending';
CREATE INDEX events_not_enqueued ON millrace.events (source, pending_since, event_id, generation)
  WHERE status = 'pending' AND enqueued_at IS NULL;

-- Events that were given up while their queue was away. The reconciler removes their jobs.
CREATE INDEX events_given_up ON millrace.events (source, event_id, generation)
  WHERE status = 'failed' AND last_error_code = 'given_up' AND enqueued_at IS NOT NULL;

-- Deliveries of one signed message, in order. No other index has one of these columns, so that a
-- plan from when the table was small uses this one.
CREATE INDEX events_signed
  ON millrace.events (coalesce(digest, body_hash), (recorded_at AT TIME ZONE 'UTC'))
  WHERE unsigned AND generation = 0;

-- The events that an event emitted.
CREATE INDEX events_emitted ON millrace.events (parent_source, parent_event_id, parent_generation)
  WHERE parent_source IS NOT NULL;

-- The events of an error group, newest first.
CREATE INDEX events_fingerprint ON millrace.events (fingerprint, status, recorded_at)
  WHERE fingerprint IS NOT NULL;

-- Bodies that were moved to a later day because their events had not completed. They are few; the
-- retention finds all others by recorded_at. In the order of an archive.
CREATE INDEX events_moved
  ON millrace.events (body_day, recorded_at, source, event_id, generation)
  WHERE body_day <> (recorded_at AT TIME ZONE 'UTC')::date;

-- 2. Bodies

CREATE SEQUENCE millrace.body_id AS bigint;

-- The exact bytes that were signed, and their headers. Rows are never updated. A partition is one
-- day in UTC, so that the retention drops old bodies and deletes no rows.
CREATE TABLE millrace.bodies (
  day date NOT NULL,
  id bigint NOT NULL,
  headers jsonb NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (day, id)
) PARTITION BY RANGE (day);

-- lz4 compresses several times faster than pglz, but not every server was built with it.
DO $$
BEGIN
  ALTER TABLE millrace.bodies ALTER COLUMN body SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported OR invalid_parameter_value THEN
  NULL;
END
$$;

-- 3. Attempts and steps

-- Failed attempts.
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
  fingerprint text COLLATE "C",
  -- Files, lines, and functions of the error, without its message.
  stack jsonb,
  -- The last lines that the handlers logged, and the number of earlier ones.
  log jsonb,
  log_dropped integer,
  PRIMARY KEY (source, event_id, generation, attempt)
);

-- Results of steps that have ended (`once`). A row is written by the latest attempt of a pending
-- event, and never changes.
CREATE TABLE millrace.steps (
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  generation integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  attempt integer NOT NULL,
  -- JSON as text, because jsonb does not hold all JSON. Null for undefined.
  result text CHECK (octet_length(result) <= 65536),
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, event_id, generation, name)
);

-- 4. Deliveries

-- Deliveries of a known id with another body. The ledger keeps the first body.
CREATE TABLE millrace.conflicts (
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  body_hash text COLLATE "C" NOT NULL,
  deliveries integer NOT NULL DEFAULT 1,
  first_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, event_id, body_hash)
);

-- Deliveries of an event after the first, which events.received_at has. The ingress writes them
-- after its answer.
CREATE TABLE millrace.deliveries (
  repeats integer NOT NULL CHECK (repeats > 0),
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  -- The last ten, newest first: `at` in milliseconds by the ingress's clock, `outcome`, `ingress`.
  recent jsonb NOT NULL,
  PRIMARY KEY (source, event_id)
) WITH (fillfactor = 70);

-- Refused deliveries per minute, for the health bar. The ingress writes them after its answers, and
-- the leading worker deletes old ones.
CREATE TABLE millrace.refusals (
  -- Start of the minute in UTC.
  at timestamptz NOT NULL,
  deliveries bigint NOT NULL CHECK (deliveries > 0),
  -- Empty where the sender named no source of the config.
  source text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  PRIMARY KEY (at, source, code)
);

-- 5. Errors

-- Groups of equal failures, by the fingerprint that the worker computes.
CREATE TABLE millrace.errors (
  fingerprint text COLLATE "C" PRIMARY KEY,
  -- The error's text without its varying parts.
  title text NOT NULL,
  code text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'resolved', 'ignored')),
  note text,
  -- Who set the state, and when; null before that.
  state_by text,
  state_at timestamptz,
  -- When the error came back after it was resolved.
  reopened_at timestamptz
);

-- Failed attempts by group, source, and type. Up to 64 rows each, by the writing connection, so
-- that a handler that fails thousands of times a second does not wait for one row.
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

-- 6. Reconciler

-- The mark that the last pass left in a queue. A queue without it was flushed, restored, or
-- replaced, and all its pending events are compared.
CREATE TABLE millrace.queue_epochs (
  queue text COLLATE "C" PRIMARY KEY,
  epoch text COLLATE "C" NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A pass is counted here first and then in the queue. A queue with a later pass than this table
  -- means that Postgres was restored or failed over.
  pass bigint NOT NULL DEFAULT 0,
  -- When the last pass was counted. A restored Postgres lacks the completions since then.
  passed_at timestamptz,
  -- The last change of Postgres that was found, and what the queue had forgotten by then.
  change jsonb
);

-- Who leads under a name, such as the reconciler: a lease, which the leader renews. A session's
-- lock does not work behind a pooler that shares connections.
CREATE TABLE millrace.leaders (
  name text COLLATE "C" PRIMARY KEY,
  -- Random, one per process and name.
  holder text COLLATE "C" NOT NULL,
  -- Its machine, for people.
  host text COLLATE "C" NOT NULL,
  renewed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);

-- 7. People

-- The audit: acts of people and programs. A row is written before the act and is never changed.
CREATE TABLE millrace.audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The user, if one is known.
  actor text,
  role text COLLATE "C" NOT NULL,
  via text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  -- The event or source, if the act is about one.
  source text COLLATE "C",
  event_id text COLLATE "C",
  generation integer,
  -- The filter, if the act is about many.
  filter jsonb,
  reason text,
  -- Of a fact such as a sign-in, which begins and ends at once.
  result jsonb
);

CREATE INDEX audit_event ON millrace.audit (source, event_id, id);

-- Results of acts. An act without one is running, or its process died.
CREATE TABLE millrace.audit_results (
  id bigint PRIMARY KEY REFERENCES millrace.audit ON DELETE CASCADE,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  result jsonb NOT NULL
);

-- Sessions of the dashboard, so that one can be ended alone. Only a signed-in user writes here. A
-- session is valid by its own text; its row has the start and the end.
CREATE TABLE millrace.sessions (
  -- Random. It opens nothing without the MAC of the session's text.
  id text COLLATE "C" PRIMARY KEY,
  actor text NOT NULL,
  role text COLLATE "C" NOT NULL,
  -- The network of the sign-in.
  network text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);

-- Retries, replays, and give-ups of many events. Dashboard and command add a run; the leading
-- worker works in batches, one transaction each, so that a worker that dies leaves no half batch.
CREATE TABLE millrace.bulk_runs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  verb text COLLATE "C" NOT NULL CHECK (verb IN ('retry', 'replay', 'give_up')),
  filter jsonb NOT NULL,
  -- Events that are recorded or fail later are not part of the run.
  snapshot_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  events_max integer,
  -- Events per second.
  rate double precision NOT NULL DEFAULT 50 CHECK (rate > 0),
  state text COLLATE "C" NOT NULL DEFAULT 'running'
    CHECK (state IN ('running', 'paused', 'stopped', 'finished', 'failed')),
  -- The end of the last batch. Of two workers that both believe they lead, one finds it changed.
  cursor text,
  -- Events that matched at the start; null when they were too many to count.
  total integer,
  listed integer NOT NULL DEFAULT 0,
  done integer NOT NULL DEFAULT 0,
  -- Skipped events, by reason.
  skipped jsonb NOT NULL DEFAULT '{}',
  error text,
  -- Final counts once none of the events is pending. Until then the members are counted.
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
  -- Of a replay: the generation that it created.
  new_generation integer,
  -- The reason if the event was skipped.
  skipped text COLLATE "C",
  PRIMARY KEY (run_id, source, event_id, generation)
);

-- 8. Activity

-- Events that were recorded, completed, and failed, by minute and by hour, so that a chart of a
-- month does not read a month of events. The leading worker counts.
CREATE TABLE millrace.activity (
  -- Start of the minute or hour in UTC.
  at timestamptz NOT NULL,
  events bigint NOT NULL CHECK (events > 0),
  -- 60 or 3,600.
  seconds integer NOT NULL CHECK (seconds IN (60, 3600)),
  -- Time from the record to the end: at most 2^(took/2) milliseconds. 0 for recorded events.
  took smallint NOT NULL CHECK (took BETWEEN 0 AND 64),
  -- True where a person had the events run again: the time includes the wait for that.
  waited boolean NOT NULL,
  source text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('recorded', 'completed', 'failed')),
  PRIMARY KEY (seconds, at, source, type, kind, waited, took)
);

-- The end of the counted time: one row, which the counting worker locks.
CREATE TABLE millrace.activity_progress (
  counted_until timestamptz NOT NULL,
  one boolean PRIMARY KEY DEFAULT true CHECK (one)
);

-- 9. Functions

-- Asks the catalog itself, because to_regclass answers from a cache that a lock does not refresh.
CREATE FUNCTION millrace.is_table(name text) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class
    WHERE relnamespace = 'millrace'::regnamespace AND relname = name
  )
$$;

-- Creates the partitions of today and the days ahead. ATTACH lets inserts and handlers go on;
-- CREATE TABLE ... PARTITION OF waits for every open transaction and blocks the rest. Roles may
-- call this with the rights of its owner (infra/postgres/roles.sql), so the number of days has a
-- limit.
CREATE FUNCTION millrace.ensure_partitions(days_ahead integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  first_day date := (now() AT TIME ZONE 'UTC')::date;
  the_day date;
  partition text;
  made integer := 0;
BEGIN
  IF days_ahead > 31 THEN
    RAISE EXCEPTION USING ERRCODE = '22023', MESSAGE = format(
      'Cannot make the partitions of %s days: 31 days ahead are the most', days_ahead);
  END IF;
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

-- Counts a delivery with another body than the first. Statements call it where they find one, so
-- that events without a conflict pay nothing. A job without its body was counted as a delivery
-- before.
CREATE FUNCTION millrace.note_conflict(
  source text, event_id text, body_hash text, is_delivery boolean
) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO millrace.conflicts AS known (source, event_id, body_hash)
  VALUES ($1, $2, $3)
  ON CONFLICT ON CONSTRAINT conflicts_pkey DO UPDATE SET
    deliveries = known.deliveries + $4::integer,
    last_seen_at = clock_timestamp();
  RETURN true;
END
$$;

-- Raises inside an expression, so that a statement that wrote nothing fails its transaction.
CREATE FUNCTION millrace.refuse(reason text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'MR002', MESSAGE = reason;
END
$$;

-- The same, with an SQLSTATE for each reason that callers distinguish.
CREATE FUNCTION millrace.refuse(reason text, state text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = state, MESSAGE = reason;
END
$$;

-- A body as jsonb, or null: not every body is JSON, and jsonb does not hold all JSON (\u0000, lone
-- surrogates, exponents past numeric).
CREATE FUNCTION millrace.payload(body bytea) RETURNS jsonb LANGUAGE plpgsql STABLE STRICT AS $$
BEGIN
  RETURN convert_from(body, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN
  RETURN NULL;
END
$$;

-- 10. Triggers

-- The state machine: nothing -> pending, pending -> completed or failed, failed -> pending. Every
-- other change is refused, by whatever client. AFTER triggers with a condition lock no row twice and
-- call no function on a legal change.
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

-- An event that completes at its first attempt is written once, as completed, in the transaction of
-- its handlers. The row and a setting of that transaction show it, so that no other INSERT adds a
-- completed event.
CREATE TRIGGER refuse_insert AFTER INSERT ON millrace.events
  FOR EACH ROW WHEN (
    NEW.status <> 'pending' AND NOT (
      NEW.status = 'completed'
      AND NEW.generation = 0
      AND NEW.attempts = 1
      AND NEW.attempts_at_retry = 0
      AND NEW.started_at IS NOT NULL
      AND NEW.started_at <= NEW.processed_at
      AND NEW.last_error_code IS NULL
      AND current_setting('millrace.first_attempts', true) IS NOT DISTINCT FROM pg_current_xact_id()::text
    )
  )
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

-- The audit is only added to, and never by a handler. A handler's transaction has locked
-- millrace.events for the event's row until it ends: no statement gives that up, unlike a setting.
-- A DELETE is allowed in a transaction with the setting millrace.delete_audit.
CREATE FUNCTION millrace.guard_audit() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation'
      AND relation = 'millrace.events'::regclass AND mode <> 'AccessShareLock'
  ) THEN
    RAISE EXCEPTION USING ERRCODE = 'MR004', MESSAGE = format(
      'Cannot write to millrace.%I: a handler may not, and this is the transaction of one', TG_TABLE_NAME);
  ELSIF TG_OP = 'DELETE' AND current_setting('millrace.delete_audit', true) = 'on' THEN
    RETURN NULL;
  ELSIF TG_OP <> 'INSERT' THEN
    RAISE EXCEPTION USING ERRCODE = 'MR004', MESSAGE = format(
      'Cannot %s millrace.%I: the audit is only added to', lower(TG_OP), TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON millrace.audit
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.guard_audit();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON millrace.audit_results
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.guard_audit();

-- Also in a session with session_replication_role = replica.
ALTER TABLE millrace.audit ENABLE ALWAYS TRIGGER guard;
ALTER TABLE millrace.audit_results ENABLE ALWAYS TRIGGER guard;

-- 11. Views

-- For people with psql. A body is read and parsed only where a query asks for the payload.
CREATE VIEW millrace.webhook_events AS
SELECT
  e.source, e.event_id, e.generation, e.type, e.status, e.outcome, e.attempts,
  (SELECT millrace.payload(b.body) FROM millrace.bodies b
    WHERE b.day = e.body_day AND b.id = e.body_id) AS payload,
  e.received_at, e.recorded_at, e.started_at, e.processed_at,
  e.last_error, e.last_error_code, e.unsigned
FROM millrace.events e;

-- The same in public, unless the name is taken there or this login may not write there.
DO $$
BEGIN
  CREATE VIEW public.webhook_events AS SELECT * FROM millrace.webhook_events;
EXCEPTION
  WHEN duplicate_table OR duplicate_object OR insufficient_privilege OR invalid_schema_name THEN
    NULL;
END
$$;

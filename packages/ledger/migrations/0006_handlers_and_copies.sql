-- 1. Deliveries of a known id with another body

-- A body without the fields that say which attempt of the sender it is, also of each item of a list.
-- Null for a body that is no JSON.
CREATE FUNCTION millrace.without_fields(body bytea, fields text[]) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
DECLARE
  parsed jsonb;
BEGIN
  parsed := convert_from($1, 'UTF8')::jsonb;
  IF jsonb_typeof(parsed) = 'array' THEN
    RETURN (SELECT jsonb_agg(item - $2 ORDER BY n)
      FROM jsonb_array_elements(parsed) WITH ORDINALITY AS items (item, n));
  END IF;
  RETURN parsed - $2;
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
  RETURN NULL;
END
$$;

-- Answers `same` where only fields of the attempt differ, and `taken` where the event of that id was
-- a refused copy: the delivery takes its place, and the copy's body is kept as the other one.
-- `is_genuine`: the delivery is no copy itself. Null for one that the source does not ask for.
DROP FUNCTION millrace.note_conflict(text, text, text, integer, text, jsonb, bytea);
CREATE FUNCTION millrace.note_conflict(
  source text, event_id text, body_hash text, deliveries integer, type text, headers jsonb, body bytea,
  digest text DEFAULT NULL, attempt_fields text[] DEFAULT '{}', is_genuine boolean DEFAULT false
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  new_id bigint;
  copied millrace.events;
BEGIN
  IF cardinality($9) > 0 AND $7 IS NOT NULL AND EXISTS (
    SELECT FROM millrace.events e JOIN millrace.bodies b ON b.day = e.body_day AND b.id = e.body_id
    WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0 AND e.type = $5
      AND millrace.without_fields(b.body, $9) = millrace.without_fields($7, $9)
  ) THEN
    RETURN 'same';
  END IF;
  IF $10 AND $7 IS NOT NULL THEN
    SELECT e.* INTO copied FROM millrace.events e
    WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0 AND e.refused
      AND e.status <> 'completed' AND e.body_hash <> $3
    FOR UPDATE;
  END IF;
  IF copied.event_id IS NOT NULL THEN
    new_id := nextval('millrace.body_id');
    INSERT INTO millrace.bodies (day, id, headers, body) VALUES (today, new_id, $6, $7);
    -- An attempt of the copy that still runs is not the latest one any more.
    UPDATE millrace.events e SET
      status = 'pending', type = $5, body_hash = $3, digest = $8, refused = false,
      body_day = today, body_id = new_id, own_headers = NULL,
      attempts = e.attempts + (e.status = 'pending')::int,
      attempts_at_retry = e.attempts + (e.status = 'pending')::int,
      received_at = now(), pending_since = now(), started_at = NULL, processed_at = NULL,
      enqueued_at = NULL, next_attempt_at = NULL,
      last_error = NULL, last_error_code = NULL, fingerprint = NULL, failed_run = NULL
    WHERE e.source = $1 AND e.event_id = $2 AND e.generation = 0;
    INSERT INTO millrace.conflicts (source, event_id, body_hash, type, body_day, body_id)
    VALUES ($1, $2, copied.body_hash, copied.type, copied.body_day, copied.body_id)
    ON CONFLICT ON CONSTRAINT conflicts_pkey DO NOTHING;
    RETURN 'taken';
  END IF;
  INSERT INTO millrace.conflicts AS known (source, event_id, body_hash, deliveries, type)
  VALUES ($1, $2, $3, greatest($4, 1), $5)
  ON CONFLICT ON CONSTRAINT conflicts_pkey DO UPDATE SET
    deliveries = known.deliveries + $4,
    last_seen_at = clock_timestamp();
  IF $7 IS NULL
    OR (SELECT count(*) >= 3 OR bool_or(c.body_hash = $3) FROM millrace.conflicts c
      WHERE c.source = $1 AND c.event_id = $2 AND c.body_id IS NOT NULL)
    OR (SELECT count(*) >= 1000 FROM (
      SELECT FROM millrace.conflicts c
      WHERE c.source = $1 AND c.body_day = today AND c.body_id IS NOT NULL LIMIT 1000
    ) AS kept)
  THEN
    RETURN 'conflict';
  END IF;
  new_id := nextval('millrace.body_id');
  INSERT INTO millrace.bodies (day, id, headers, body) VALUES (today, new_id, $6, $7);
  UPDATE millrace.conflicts c SET body_day = today, body_id = new_id
  WHERE c.source = $1 AND c.event_id = $2 AND c.body_hash = $3;
  RETURN 'conflict';
END
$$;

-- 2. A handler's transaction

-- True in a handler's transaction: it takes this lock before its handlers run, and no statement gives
-- that up before it ends. Statements of our own that lock an event's row do not have it.
CREATE FUNCTION millrace.in_handler() RETURNS boolean LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'advisory'
      AND classid = 1835627378 AND objid = pg_backend_pid()::oid AND objsubid = 2
  )
$$;

-- A failed event is changed by a retry, and not by a handler, except that an emit gives an event its
-- lost body again. Pending to completed pays nothing. The path keeps a handler from putting functions
-- and views of its own before those of Postgres.
CREATE OR REPLACE FUNCTION millrace.refuse_transition() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    IF OLD.status = 'failed' AND NEW.status <> 'completed'
      AND NEW.attempts >= OLD.attempts AND NEW.attempts_at_retry >= OLD.attempts_at_retry
      AND NEW.source = OLD.source AND NEW.event_id = OLD.event_id AND NEW.generation = OLD.generation
      AND (OLD.last_error_code = 'body_lost' OR NOT millrace.in_handler())
    THEN
      RETURN NULL;
    END IF;
  END IF;
  IF current_setting('session_replication_role') = 'replica' AND NOT EXISTS (
    SELECT FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation'
      AND relation = 'millrace.events'::regclass AND mode = 'RowShareLock'
  ) THEN
    RETURN NULL;
  ELSIF TG_OP = 'TRUNCATE' THEN
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
DROP TRIGGER refuse_update ON millrace.events;
CREATE TRIGGER refuse_update AFTER UPDATE ON millrace.events
  FOR EACH ROW WHEN (
    OLD.status <> 'pending'
    OR NEW.attempts < OLD.attempts
    OR NEW.attempts_at_retry < OLD.attempts_at_retry
    OR NEW.source <> OLD.source
    OR NEW.event_id <> OLD.event_id
    OR NEW.generation <> OLD.generation
  )
  EXECUTE FUNCTION millrace.refuse_transition();
ALTER TABLE millrace.events ENABLE ALWAYS TRIGGER refuse_update;

-- What a handler's SQL plants would count as done by somebody else: a step that has run, a person who
-- is signed in, a bulk run that was asked for, a queue that was compared.
CREATE FUNCTION millrace.refuse_planted() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF millrace.in_handler() THEN
    RAISE EXCEPTION USING ERRCODE = 'MR004', MESSAGE = format(
      'Cannot %s millrace.%I: a handler may not, and this is the transaction of one',
      lower(TG_OP), TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END
$$;
DO $$
DECLARE
  guarded text;
BEGIN
  FOREACH guarded IN ARRAY ARRAY['steps', 'sessions', 'bulk_runs', 'bulk_members', 'queue_epochs',
    'leaders', 'migrations'] LOOP
    EXECUTE format('CREATE TRIGGER refuse_planted BEFORE INSERT OR UPDATE ON millrace.%I
      FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_planted()', guarded);
    EXECUTE format('ALTER TABLE millrace.%I ENABLE ALWAYS TRIGGER refuse_planted', guarded);
  END LOOP;
END
$$;

-- Values of an event's body by which it is found (`find` of a source), such as 'customer: cus_1'. An
-- event is written with them, and loses them with its body. Null in a source without `find`, which
-- has no entry in the index either.
ALTER TABLE millrace.events ADD COLUMN find text[] COLLATE "C";

-- No fastupdate: a search reads no list of pending entries, and no commit has to empty one.
CREATE INDEX events_find ON millrace.events USING gin (find) WITH (fastupdate = off)
  WHERE find IS NOT NULL;

-- An event whose refused copy came first gets another body (note_conflict), and other values. Only
-- that UPDATE names the column.
CREATE FUNCTION millrace.forget_find() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  NEW.find := NULL;
  RETURN NEW;
END
$$;
CREATE TRIGGER forget_find BEFORE UPDATE OF body_hash ON millrace.events
  FOR EACH ROW WHEN (OLD.find IS NOT NULL) EXECUTE FUNCTION millrace.forget_find();
ALTER TABLE millrace.events ENABLE ALWAYS TRIGGER forget_find;

-- As before, but an event that has ended may lose its values: the retention drops its body.
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
    IF NEW.find IS NULL AND OLD.find IS NOT NULL AND NOT millrace.in_handler() THEN
      OLD.find := NULL;
      IF OLD IS NOT DISTINCT FROM NEW THEN
        RETURN NULL;
      END IF;
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

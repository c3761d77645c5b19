-- With one login for everything, a handler's SQL could delete a completed event, and its dedup with
-- it. A handler's transaction has locked millrace.events for its event's row until it ends, as
-- guard_audit says: in it, nothing of the ledger is deleted, and no body, step, or mark is changed.
-- A statement that a trigger is for pays; an attempt pays nothing.
CREATE FUNCTION millrace.refuse_in_handler() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF EXISTS (
    SELECT FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation'
      AND relation = 'millrace.events'::regclass AND mode = 'RowShareLock'
  ) THEN
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
  FOR guarded IN
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'millrace'::regnamespace AND c.relkind IN ('r', 'p')
      AND c.relname NOT IN ('audit', 'audit_results')
      -- What roles.sql has given to the retention, no handler's login may change.
      AND pg_has_role(current_user, c.relowner, 'USAGE')
  LOOP
    EXECUTE format(
      'CREATE TRIGGER refuse_in_handler BEFORE DELETE OR TRUNCATE ON millrace.%I
         FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_in_handler()', guarded);
    -- Also in a session with session_replication_role = replica.
    EXECUTE format('ALTER TABLE millrace.%I ENABLE ALWAYS TRIGGER refuse_in_handler', guarded);
  END LOOP;
  -- A partition has the row triggers of its table, and not its statement triggers.
  IF pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = 'millrace.bodies'::regclass), 'USAGE') THEN
    CREATE TRIGGER refuse_change_in_handler AFTER UPDATE OR DELETE ON millrace.bodies
      FOR EACH ROW EXECUTE FUNCTION millrace.refuse_in_handler();
    ALTER TABLE millrace.bodies ENABLE ALWAYS TRIGGER refuse_change_in_handler;
  END IF;
END
$$;

CREATE TRIGGER refuse_change_in_handler BEFORE UPDATE ON millrace.steps
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_in_handler();
ALTER TABLE millrace.steps ENABLE ALWAYS TRIGGER refuse_change_in_handler;
CREATE TRIGGER refuse_change_in_handler BEFORE INSERT OR UPDATE ON millrace.identity
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_in_handler();
ALTER TABLE millrace.identity ENABLE ALWAYS TRIGGER refuse_change_in_handler;

-- A partition gets this trigger from ensure_partitions. Where roles.sql has run, another login owns
-- the function and the partitions, and no handler's login may empty them.
DO $$
BEGIN
  IF (SELECT prosecdef FROM pg_proc WHERE oid = 'millrace.ensure_partitions(integer)'::regprocedure) THEN
    RETURN;
  END IF;
  CREATE OR REPLACE FUNCTION millrace.ensure_partitions(days_ahead integer) RETURNS integer
  LANGUAGE plpgsql AS $function$
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
        'CREATE TRIGGER refuse_in_handler BEFORE TRUNCATE ON millrace.%I
           FOR EACH STATEMENT EXECUTE FUNCTION millrace.refuse_in_handler()', partition);
      EXECUTE format('ALTER TABLE millrace.%I ENABLE ALWAYS TRIGGER refuse_in_handler', partition);
      EXECUTE format(
        'ALTER TABLE millrace.bodies ATTACH PARTITION millrace.%I FOR VALUES FROM (%L) TO (%L)',
        partition, the_day, the_day + 1
      );
      made := made + 1;
    END LOOP;
    RETURN made;
  END
  $function$;
END
$$;

-- A superuser, who can switch triggers off by session_replication_role, cannot reopen a completed
-- event in a handler either. One trigger has both rules: with a second one for the same rows,
-- Postgres 18.4 crashed when two transactions updated a row at once.
CREATE OR REPLACE FUNCTION millrace.refuse_transition() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
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
ALTER TABLE millrace.events ENABLE ALWAYS TRIGGER refuse_update;

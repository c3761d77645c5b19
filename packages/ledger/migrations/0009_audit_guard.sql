-- The audit is only added to. An act is two rows: what is about to be done, and what became of it.
--
-- The build before ends an act by an UPDATE, and a trigger turns it into the second row. Acts that ended before
-- this migration have their result in the first row.

CREATE TABLE millrace.audit_results (
  id bigint PRIMARY KEY REFERENCES millrace.audit ON DELETE CASCADE,
  -- The database's clock.
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  result jsonb NOT NULL
);

-- Refuses every statement of a handler. Its transaction has locked millrace.events for the event's row, and
-- keeps that lock until it ends: unlike a setting, no statement gives it up. Of all others, it refuses what
-- would change or delete a row, except a DELETE in a transaction with the setting millrace.delete_audit.
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
  ELSIF TG_OP IN ('DELETE', 'TRUNCATE') OR (TG_OP = 'UPDATE' AND TG_TABLE_NAME <> 'audit') THEN
    RAISE EXCEPTION USING ERRCODE = 'MR004', MESSAGE = format(
      'Cannot %s millrace.%I: the audit is only added to', lower(TG_OP), TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END
$$;

-- Keeps the result that an UPDATE of the build before adds, and the row as it is.
CREATE FUNCTION millrace.end_audit() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  ends constant text[] := ARRAY['result', 'finished_at'];
BEGIN
  IF OLD.result IS NULL AND NEW.result IS NOT NULL AND to_jsonb(NEW) - ends = to_jsonb(OLD) - ends THEN
    INSERT INTO millrace.audit_results (id, result) VALUES (OLD.id, NEW.result) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      RETURN NULL;
    END IF;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'MR004', MESSAGE = 'Cannot update millrace.audit: the audit is only added to';
END
$$;

CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON millrace.audit
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.guard_audit();
CREATE TRIGGER guard BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON millrace.audit_results
  FOR EACH STATEMENT EXECUTE FUNCTION millrace.guard_audit();
CREATE TRIGGER end_audit BEFORE UPDATE ON millrace.audit
  FOR EACH ROW EXECUTE FUNCTION millrace.end_audit();

-- Also in a session with session_replication_role = replica.
ALTER TABLE millrace.audit ENABLE ALWAYS TRIGGER guard, ENABLE ALWAYS TRIGGER end_audit;
ALTER TABLE millrace.audit_results ENABLE ALWAYS TRIGGER guard;

-- Like millrace.refuse(text), with an SQLSTATE of its own for each reason that callers tell apart.
CREATE FUNCTION millrace.refuse(reason text, state text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = state, MESSAGE = reason;
END
$$;

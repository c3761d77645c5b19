-- Logins for the roles of Millrace, each with the rights that it needs and no more. Plain SQL: any client
-- runs it.
--
--   psql -v ON_ERROR_STOP=1 -f roles.sql          as a superuser
--
-- Run it before the first `millrace migrate`, which makes the roles, and after every one, which gives them
-- their rights on tables that are new. It may run while Millrace runs, and again. In the schema millrace it
-- takes back what is not written here.
--
--   login                the process that uses it, as DATABASE_URL
--   millrace_owner       millrace migrate
--   millrace_ingress     millrace ingress
--   millrace_worker      millrace worker; handlers write with it
--   millrace_retention   millrace worker, as RETENTION_DATABASE_URL; millrace retention
--   millrace_dashboard   millrace dashboard; doctor, events, retry, replay, pause, resume
--
-- The roles have no password yet: `\password millrace_worker` in psql, or passwords.sql beside this file.
--
-- Handlers get nothing of yours by themselves. Name the schemas that they read and write, before this file:
--
--   psql -v ON_ERROR_STOP=1 -c "SET millrace.handler_schemas = 'store, shop'" -f roles.sql
--
-- or grant less than this does, in a migration of your own.

SET search_path = pg_catalog, pg_temp;
-- To give a table another owner waits for its readers; this rather fails.
SET lock_timeout = '5s';
SET client_min_messages = warning;

-- 1. The roles.

DO $roles$
DECLARE
  login text;
BEGIN
  FOREACH login IN ARRAY ARRAY['millrace_owner', 'millrace_ingress', 'millrace_worker',
    'millrace_retention', 'millrace_dashboard']
  LOOP
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = login) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', login);
    END IF;
    EXECUTE format('ALTER ROLE %I NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS',
      login);
  END LOOP;
  -- What the retention owns is the owner's too: a migration may change it.
  GRANT millrace_retention TO millrace_owner;
  -- Migrations make schemas, and the view public.webhook_events.
  EXECUTE format('GRANT CREATE ON DATABASE %I TO millrace_owner', current_database());
  IF to_regnamespace('public') IS NOT NULL THEN
    GRANT CREATE ON SCHEMA public TO millrace_owner;
  END IF;
  CREATE SCHEMA IF NOT EXISTS millrace AUTHORIZATION millrace_owner;
END
$roles$;

-- 2. The owners: what an earlier login made belongs to millrace_owner, and the days of bodies to
-- millrace_retention, for only a table's owner may attach, detach, and drop its partitions.

DO $owners$
DECLARE
  ours oid[] := ARRAY(SELECT oid FROM pg_namespace WHERE nspname IN ('millrace', 'bullmq'));
  found record;
BEGIN
  FOR found IN
    SELECT format('SCHEMA %I', nspname) AS object, 'millrace_owner' AS owner, nspowner AS now
      FROM pg_namespace WHERE oid = ANY (ours)
    UNION ALL
    SELECT format('%s %s', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
        c.oid::regclass),
      CASE WHEN relnamespace = 'millrace'::regnamespace AND relname ~ '^bodies(_[0-9]{8})?$'
        THEN 'millrace_retention' ELSE 'millrace_owner' END,
      relowner
      FROM pg_class c
      WHERE (relnamespace = ANY (ours) OR c.oid = to_regclass('public.webhook_events'))
        AND relkind IN ('r', 'p', 'v', 'S')
        -- A column's own sequence goes with its table.
        AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
          AND d.objid = c.oid AND c.relkind = 'S' AND d.deptype IN ('a', 'i'))
    UNION ALL
    SELECT format('FUNCTION %s', oid::regprocedure),
      CASE WHEN oid = to_regprocedure('millrace.ensure_partitions(integer)')
        THEN 'millrace_retention' ELSE 'millrace_owner' END,
      proowner
      FROM pg_proc WHERE pronamespace = ANY (ours)
    UNION ALL
    SELECT format('TYPE %s', oid::regtype), 'millrace_owner', typowner
      FROM pg_type WHERE typnamespace = ANY (ours) AND typtype IN ('e', 'd')
  LOOP
    CONTINUE WHEN found.now = found.owner::regrole;
    -- A function with SECURITY DEFINER would run as its new owner.
    IF found.now = 'millrace_retention'::regrole THEN
      RAISE WARNING '% was made by millrace_retention, and stays its own: Millrace makes no such thing', found.object;
      CONTINUE;
    END IF;
    -- An owner must be allowed to make such a thing.
    EXECUTE 'GRANT CREATE ON SCHEMA millrace TO millrace_retention';
    EXECUTE format('ALTER %s OWNER TO %I', found.object, found.owner);
  END LOOP;
END
$owners$;

-- 3. The rights in the schema millrace. Each table, view, sequence, and function of it has a line here (a
-- test sees to that).

DO $rights$
BEGIN
  IF to_regclass('millrace.identity') IS NULL THEN
    RAISE WARNING 'The tables of this build are not there yet: run this file again after "millrace migrate"';
    RETURN;
  END IF;

  REVOKE ALL ON SCHEMA millrace FROM PUBLIC;
  REVOKE ALL ON ALL TABLES IN SCHEMA millrace
    FROM PUBLIC, millrace_ingress, millrace_worker, millrace_dashboard;
  REVOKE ALL ON millrace.migrations, millrace.events, millrace.attempts, millrace.errors,
    millrace.error_counts, millrace.steps, millrace.conflicts, millrace.deliveries,
    millrace.queue_epochs, millrace.leaders, millrace.audit, millrace.audit_results,
    millrace.sessions, millrace.bulk_runs, millrace.bulk_members, millrace.activity, millrace.activity_progress,
    millrace.refusals, millrace.identity,
    millrace.webhook_events
    FROM millrace_retention;
  REVOKE ALL ON ALL SEQUENCES IN SCHEMA millrace
    FROM PUBLIC, millrace_ingress, millrace_worker, millrace_dashboard, millrace_retention;
  REVOKE ALL ON ALL FUNCTIONS IN SCHEMA millrace
    FROM PUBLIC, millrace_ingress, millrace_worker, millrace_dashboard;

  GRANT USAGE ON SCHEMA millrace
    TO millrace_ingress, millrace_worker, millrace_retention, millrace_dashboard;
  GRANT SELECT ON millrace.migrations
    TO millrace_ingress, millrace_worker, millrace_retention, millrace_dashboard;

  -- Which ledger this is. A worker writes on which database it runs, and that it signs.
  GRANT SELECT ON millrace.identity TO millrace_ingress, millrace_worker, millrace_dashboard;
  GRANT UPDATE (system_id, database_oid, signed_since) ON millrace.identity TO millrace_worker;

  -- The ingress records events and the dashboard replays, and both make a failed one pending again. Neither
  -- can complete one: they may not write an outcome, and a completed event has one.
  GRANT SELECT,
    INSERT (source, event_id, generation, type, body_hash, unsigned, digest, received_at, body_id, own_headers,
      find, refused, attempts, attempts_at_retry, started_at, enqueued_at),
    UPDATE (status, attempts_at_retry, pending_since, processed_at, failed_run, enqueued_at, refused)
    ON millrace.events TO millrace_ingress;
  GRANT SELECT,
    INSERT (source, event_id, generation, type, body_hash, unsigned, received_at, body_id, own_headers, find,
      parent_source, parent_event_id, parent_generation),
    UPDATE (status, attempts_at_retry, pending_since, processed_at, failed_run, enqueued_at, refused,
      -- Giving an event up writes why it failed.
      last_error, last_error_code, next_attempt_at)
    ON millrace.events TO millrace_dashboard;
  GRANT SELECT, INSERT, UPDATE ON millrace.events TO millrace_worker;
  GRANT SELECT, UPDATE (body_day, find), DELETE ON millrace.events TO millrace_retention;

  -- The ingress may know that a body is kept, and not what is in it.
  GRANT SELECT (day, id), INSERT ON millrace.bodies TO millrace_ingress;
  GRANT SELECT, INSERT ON millrace.bodies TO millrace_worker, millrace_dashboard;
  GRANT USAGE ON SEQUENCE millrace.body_id
    TO millrace_ingress, millrace_worker, millrace_dashboard;

  GRANT SELECT, INSERT ON millrace.steps TO millrace_worker;
  GRANT SELECT, DELETE ON millrace.steps TO millrace_retention;
  GRANT SELECT ON millrace.steps TO millrace_dashboard;

  -- What people have decided of an error is the dashboard's to write; that it came back, the worker's.
  GRANT SELECT, INSERT, UPDATE (state, reopened_at) ON millrace.errors TO millrace_worker;
  GRANT SELECT, UPDATE (state, note, state_by, state_at, reopened_at, owner) ON millrace.errors
    TO millrace_dashboard;
  GRANT SELECT, INSERT, UPDATE ON millrace.error_counts TO millrace_worker;
  GRANT SELECT ON millrace.error_counts TO millrace_dashboard;
  GRANT SELECT, DELETE ON millrace.errors, millrace.error_counts TO millrace_retention;

  GRANT SELECT, INSERT ON millrace.attempts TO millrace_worker;
  GRANT SELECT, DELETE ON millrace.attempts TO millrace_retention;
  GRANT SELECT ON millrace.attempts TO millrace_dashboard;

  GRANT SELECT, INSERT, UPDATE ON millrace.conflicts TO millrace_ingress, millrace_worker;
  GRANT SELECT, DELETE ON millrace.conflicts TO millrace_retention;
  GRANT SELECT ON millrace.conflicts TO millrace_dashboard;

  -- The ingress counts how often an event was delivered, and shows it to nobody.
  GRANT SELECT, INSERT, UPDATE (repeats, recent) ON millrace.deliveries TO millrace_ingress;
  GRANT SELECT, DELETE ON millrace.deliveries TO millrace_retention;
  GRANT SELECT ON millrace.deliveries TO millrace_worker, millrace_dashboard;

  GRANT SELECT, INSERT, UPDATE ON millrace.queue_epochs TO millrace_worker;
  GRANT SELECT ON millrace.queue_epochs TO millrace_dashboard;

  -- Which worker reconciles, and who runs the retention.
  GRANT SELECT, INSERT, UPDATE ON millrace.leaders TO millrace_worker, millrace_retention;
  GRANT SELECT ON millrace.leaders TO millrace_dashboard;

  -- Who did what. Nobody but the dashboard has a right on it, and nobody may delete from it: the owner
  -- prunes it, by hand.
  GRANT SELECT, INSERT ON millrace.audit, millrace.audit_results TO millrace_dashboard;

  -- Who is signed in to the dashboard.
  GRANT SELECT, INSERT, UPDATE, DELETE ON millrace.sessions TO millrace_dashboard;

  -- Who starts a bulk run may also pause and stop it; the worker writes what it has done.
  GRANT SELECT,
    INSERT (
      verb, filter, events_max, rate, total, started_by, role, via, reason, audit_id, canary, canary_state,
      failed_share_max
    ),
    UPDATE (state, rate, results, error, canary_state, failed_share_max, finished_at)
    ON millrace.bulk_runs TO millrace_dashboard;
  GRANT SELECT,
    UPDATE (
      state, cursor, listed, done, skipped, error, results, canary_state, taken_at, finished_at
    )
    ON millrace.bulk_runs TO millrace_worker;
  GRANT SELECT, DELETE ON millrace.bulk_runs TO millrace_retention;
  GRANT SELECT, INSERT, UPDATE ON millrace.bulk_members TO millrace_worker;
  GRANT SELECT, DELETE ON millrace.bulk_members TO millrace_retention;
  GRANT SELECT ON millrace.bulk_members TO millrace_dashboard;

  -- What happened, by minute and by hour. The worker counts it anew where events were committed late, and deletes what is old.
  GRANT SELECT, INSERT, DELETE ON millrace.activity TO millrace_worker;
  GRANT SELECT, INSERT, UPDATE ON millrace.activity_progress TO millrace_worker;
  GRANT SELECT ON millrace.activity, millrace.activity_progress TO millrace_dashboard;

  -- How many deliveries were refused, which the ingress counts; the worker deletes what is old.
  GRANT SELECT, INSERT, UPDATE (deliveries) ON millrace.refusals TO millrace_ingress;
  GRANT SELECT, DELETE ON millrace.refusals TO millrace_worker;
  GRANT SELECT ON millrace.refusals TO millrace_dashboard;

  GRANT SELECT ON millrace.webhook_events TO millrace_dashboard;
  IF to_regclass('public.webhook_events') IS NOT NULL THEN
    GRANT SELECT ON public.webhook_events TO millrace_dashboard;
  END IF;
  GRANT EXECUTE ON FUNCTION millrace.payload(bytea) TO millrace_dashboard;

  -- It compares two bodies, which the ingress may not read, and gives a refused copy's row to the event.
  GRANT SELECT, INSERT ON millrace.bodies TO millrace_owner;
  ALTER FUNCTION millrace.note_conflict(text, text, text, integer, text, jsonb, bytea, text, text[], boolean)
    SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
  GRANT EXECUTE ON FUNCTION millrace.note_conflict(text, text, text, integer, text, jsonb, bytea, text, text[], boolean)
    TO millrace_ingress, millrace_worker;
  REVOKE ALL ON FUNCTION millrace.without_fields(bytea, text[]) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION millrace.in_handler()
    TO millrace_ingress, millrace_worker, millrace_retention, millrace_dashboard;
  GRANT EXECUTE ON FUNCTION millrace.refuse(text), millrace.refuse(text, text) TO millrace_worker;
  -- Triggers call these, which takes no right.
  REVOKE ALL ON FUNCTION millrace.refuse_transition(), millrace.guard_audit(), millrace.refuse_in_handler(),
    millrace.refuse_planted(), millrace.forget_find() FROM PUBLIC;

  -- The days of bodies are made by whoever needs one, and belong to the retention, which drops them.
  GRANT CREATE ON SCHEMA millrace TO millrace_retention;
  GRANT EXECUTE ON FUNCTION millrace.is_table(text), millrace.refuse_in_handler() TO millrace_retention;
  ALTER FUNCTION millrace.ensure_partitions(integer) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
  GRANT EXECUTE ON FUNCTION millrace.ensure_partitions(integer)
    TO millrace_ingress, millrace_worker, millrace_dashboard;
END
$rights$;

-- 4. Without REDIS_URL, the queue is BullMQ's tables in the schema bullmq, which `millrace migrate` makes.
-- Every role adds jobs, moves them, and reads them, by functions that run with the caller's rights.

DO $queue$
BEGIN
  IF to_regnamespace('bullmq') IS NULL THEN
    RETURN;
  END IF;
  GRANT USAGE ON SCHEMA bullmq TO millrace_ingress, millrace_worker, millrace_dashboard;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA bullmq
    TO millrace_ingress, millrace_worker, millrace_dashboard;
  GRANT USAGE ON ALL SEQUENCES IN SCHEMA bullmq
    TO millrace_ingress, millrace_worker, millrace_dashboard;
  GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA bullmq
    TO millrace_ingress, millrace_worker, millrace_dashboard;
  -- Who moves a job need not change which version the tables have.
  REVOKE INSERT, UPDATE, DELETE ON bullmq.migration
    FROM millrace_ingress, millrace_worker, millrace_dashboard;
END
$queue$;

-- 5. The tables of handlers.

DO $handlers$
DECLARE
  named text := coalesce(current_setting('millrace.handler_schemas', true), '');
  schema text;
BEGIN
  FOREACH schema IN ARRAY regexp_split_to_array(named, '\s*,\s*') LOOP
    CONTINUE WHEN schema = '' OR to_regnamespace(quote_ident(schema)) IS NULL;
    IF schema IN ('millrace', 'bullmq') THEN
      RAISE EXCEPTION 'Cannot give handlers the schema %: it is Millrace''s own', schema;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO millrace_worker', schema);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO millrace_worker',
      schema);
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO millrace_worker', schema);
    EXECUTE format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA %I TO millrace_worker', schema);
    -- What later migrations add.
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, '
      'DELETE ON TABLES TO millrace_worker', schema);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA %I GRANT USAGE, SELECT ON '
      'SEQUENCES TO millrace_worker', schema);
    EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE millrace_owner IN SCHEMA %I GRANT EXECUTE ON FUNCTIONS '
      'TO millrace_worker', schema);
  END LOOP;
  -- Who writes through a view writes with the rights of its owner.
  IF to_regclass('public.webhook_events') IS NOT NULL THEN
    REVOKE ALL ON public.webhook_events FROM millrace_worker;
  END IF;
END
$handlers$;

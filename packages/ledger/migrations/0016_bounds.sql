-- The days of bodies are made by whoever needs one, with the rights of their owner (infra/postgres/roles.sql): a month
-- ahead, and no more. Millrace itself asks for 14 days.

DO $$
DECLARE
  is_definer boolean := (SELECT prosecdef FROM pg_catalog.pg_proc
    WHERE oid = 'millrace.ensure_partitions(integer)'::regprocedure);
BEGIN
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
        'ALTER TABLE millrace.bodies ATTACH PARTITION millrace.%I FOR VALUES FROM (%L) TO (%L)',
        partition, the_day, the_day + 1
      );
      made := made + 1;
    END LOOP;
    RETURN made;
  END
  $function$;
  -- A function that is replaced loses what roles.sql gave it, and the roles could not make a day until that runs again.
  IF is_definer THEN
    ALTER FUNCTION millrace.ensure_partitions(integer) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
  END IF;
END
$$;

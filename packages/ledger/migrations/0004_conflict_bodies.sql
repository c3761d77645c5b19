-- A delivery of a known id with another body is an event that a person can run. Its body is kept
-- with those of events, for as long as they are: at most 3 for an event, and 1,000 for a source and
-- day.
ALTER TABLE millrace.conflicts
  ADD COLUMN type text COLLATE "C",
  ADD COLUMN body_day date,
  ADD COLUMN body_id bigint;

-- The list, newest first, and the count of a day.
CREATE INDEX conflicts_first_seen_at ON millrace.conflicts (first_seen_at);
CREATE INDEX conflicts_kept ON millrace.conflicts (source, body_day) WHERE body_id IS NOT NULL;

-- Statements call it where they find another body than the first, so that events without a conflict
-- pay nothing. A job without its body was counted as a delivery before.
DROP FUNCTION millrace.note_conflict(text, text, text, boolean);
CREATE FUNCTION millrace.note_conflict(
  source text, event_id text, body_hash text, deliveries integer, type text, headers jsonb, body bytea
) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
  new_id bigint;
BEGIN
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
    RETURN true;
  END IF;
  new_id := nextval('millrace.body_id');
  INSERT INTO millrace.bodies (day, id, headers, body) VALUES (today, new_id, $6, $7);
  UPDATE millrace.conflicts c SET body_day = today, body_id = new_id
  WHERE c.source = $1 AND c.event_id = $2 AND c.body_hash = $3;
  RETURN true;
END
$$;

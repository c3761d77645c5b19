-- Writes down that an event came with another body than the first. Called from within the statement
-- that found it out, so that events without a conflict pay nothing for it. A delivery is counted when
-- it comes with its body; a job that comes without one was counted before.
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

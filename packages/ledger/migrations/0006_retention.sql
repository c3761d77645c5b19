-- What the retention needs to find the events of a day's bodies.

-- Bodies of events that were not completed in time lie in another day's partition than the one they
-- came on. These are few; of all others the time of the record tells where the body is. In the order
-- that an archive is written in.
CREATE INDEX events_moved
  ON millrace.events (body_day, recorded_at, source, event_id, generation)
  WHERE body_day <> (recorded_at AT TIME ZONE 'UTC')::date;

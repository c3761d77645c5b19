-- Deliveries of an event after the first, which is the event's own received_at: an event that came once has no row. The
-- ingress notes them behind its answer.
CREATE TABLE millrace.deliveries (
  repeats integer NOT NULL CHECK (repeats > 0),
  source text COLLATE "C" NOT NULL,
  event_id text COLLATE "C" NOT NULL,
  -- The last ten, newest first: `at` by the ingress's clock, in milliseconds since 1970, `outcome`, and the host `ingress`.
  recent jsonb NOT NULL,
  PRIMARY KEY (source, event_id)
) WITH (fillfactor = 70);

CREATE TABLE effects (event_id text);
-- What a hand-written worker keeps that wants body and status too.
CREATE TABLE usual_events (
  event_id text PRIMARY KEY, type text, body jsonb, status text DEFAULT 'pending'
);
-- What a hand-written worker keeps at least, and a handler on graphile-worker.
CREATE TABLE processed_ids (event_id text PRIMARY KEY);

-- Rows that handlers update.
CREATE TABLE counters (id integer PRIMARY KEY, events integer NOT NULL DEFAULT 0);
INSERT INTO counters (id) SELECT generate_series(0, 99999);

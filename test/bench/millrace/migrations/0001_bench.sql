CREATE TABLE effects (event_id text);
-- What the hand-written worker keeps.
CREATE TABLE usual_events (
  event_id text PRIMARY KEY, type text, body jsonb, status text DEFAULT 'pending'
);
-- What the guides keep.
CREATE TABLE processed_webhooks (
  id serial PRIMARY KEY,
  event_id varchar(255) UNIQUE NOT NULL,
  event_type varchar(100) NOT NULL,
  processed_at timestamp NOT NULL DEFAULT now(),
  payload jsonb
);
CREATE INDEX processed_webhooks_processed_at ON processed_webhooks (processed_at);
-- What a handler on graphile-worker keeps.
CREATE TABLE processed_ids (event_id text PRIMARY KEY);

-- Rows that every handler of the contended load updates.
CREATE TABLE counters (id integer PRIMARY KEY, events integer NOT NULL DEFAULT 0);
INSERT INTO counters (id) SELECT generate_series(0, 19);

CREATE TABLE effects (event_id text);
-- What the hand-written worker keeps.
CREATE TABLE usual_events (
  event_id text PRIMARY KEY, type text, body jsonb, status text DEFAULT 'pending'
);

-- Rows that every handler of the contended load updates.
CREATE TABLE counters (id integer PRIMARY KEY, events integer NOT NULL DEFAULT 0);
INSERT INTO counters (id) SELECT generate_series(0, 19);


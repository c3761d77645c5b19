CREATE TABLE effects (event_id text);
-- What the hand-written worker keeps.
CREATE TABLE usual_events (
  event_id text PRIMARY KEY, type text, body jsonb, status text DEFAULT 'pending'
);

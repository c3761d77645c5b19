-- Who is signed in to the dashboard, so that a session can be ended alone. Only somebody who has signed in
-- writes here. A session is valid by its own text; a row says since when, and whether it was ended.
CREATE TABLE millrace.sessions (
  -- Random. It opens nothing without the MAC of the session's text.
  id text COLLATE "C" PRIMARY KEY,
  actor text NOT NULL,
  role text COLLATE "C" NOT NULL,
  -- Where it was signed in from.
  network text COLLATE "C" NOT NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);

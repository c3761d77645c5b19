-- Who leads under a name, such as the reconciler: a lease by the database's clock, which the leader renews. A
-- session's lock would not do: behind a pooler that shares connections, the session belongs to whoever comes next.
CREATE TABLE millrace.leaders (
  name text COLLATE "C" PRIMARY KEY,
  -- Random, one for each process and name.
  holder text COLLATE "C" NOT NULL,
  -- Its machine, for people.
  host text COLLATE "C" NOT NULL,
  renewed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
